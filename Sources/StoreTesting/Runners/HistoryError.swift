/// Why a history could not be run to its end.
package struct HistoryError: Error, Sendable, CustomStringConvertible {
  /// What kind of error it is. More may come.
  package struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
    package var description: String { rawValue }

    /// A device could not sync a zone.
    static let syncFailed = Code(rawValue: "syncFailed")
    /// The devices never came to rest.
    static let neverQuiet = Code(rawValue: "neverQuiet")
    /// The directory for the stores, or for the remote, cannot be used.
    package static let directoryUnusable = Code(rawValue: "directoryUnusable")
    /// The remote has zones already.
    static let remoteNotEmpty = Code(rawValue: "remoteNotEmpty")
  }

  package let code: Code
  package let message: String
  package let hint: String

  init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  package var description: String { "\(message) (\(code)). \(hint)" }
}
