/// Why a history could not be run to its end.
public struct HistoryError: Error, Sendable, CustomStringConvertible {
  /// What kind of error it is. More may come.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A device could not sync a zone.
    public static let syncFailed = Code(rawValue: "syncFailed")
    /// The devices never came to rest.
    public static let neverQuiet = Code(rawValue: "neverQuiet")
    /// The directory for the stores, or for the remote, cannot be used.
    public static let directoryUnusable = Code(rawValue: "directoryUnusable")
  }

  public let code: Code
  public let message: String
  public let hint: String

  init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  public var description: String { "\(message) (\(code)). \(hint)" }
}
