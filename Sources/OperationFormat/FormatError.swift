/// The one error of this target: bytes, a text or a value that a format does not allow.
///
/// The texts name places, counts and tags, never the user's data.
public struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of rule was broken. The set may grow, so a `switch` over it needs a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code's stable text, as it appears in messages.
    public let rawValue: String

    /// Creates a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes end before the thing does.
    public static let truncated = Code(rawValue: "truncated")
    /// The bytes mean something that has another, shorter or differently ordered, only allowed form.
    public static let nonCanonical = Code(rawValue: "nonCanonical")
    /// A count, size or depth is over its limit (see ``Limits``).
    public static let limitExceeded = Code(rawValue: "limitExceeded")
    /// A text is not UTF-8.
    public static let invalidUTF8 = Code(rawValue: "invalidUTF8")
    /// A tag that this version does not know stands where no unknown one may be kept.
    public static let unknownTag = Code(rawValue: "unknownTag")
    /// The version byte or a flag is from a later version of the format.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// A checksum or hash does not fit the bytes.
    public static let damaged = Code(rawValue: "damaged")
    /// Bytes are left after the end of the thing.
    public static let trailingBytes = Code(rawValue: "trailingBytes")
    /// A field has a value that it can never have.
    public static let invalid = Code(rawValue: "invalid")
    /// There was not enough memory to read the bytes; they may be right.
    public static let outOfMemory = Code(rawValue: "outOfMemory")

    /// The code's stable text.
    public var description: String { rawValue }
  }

  /// The kind of rule that was broken.
  public var code: Code
  /// Where the offending part starts, in bytes from the start of the decoded thing; 0 in an encoder's error.
  public var offset: Int
  /// The field at fault, as a dotted path: `transaction.author`.
  public var subject: String
  /// What the format asks for.
  public var expected: String
  /// What was there.
  public var found: String

  /// Creates an error about the part of `subject` that starts at the byte `offset`.
  public init(_ code: Code, at offset: Int, in subject: String, expected: String, found: String) {
    self.code = code
    self.offset = offset
    self.subject = subject
    self.expected = expected
    self.found = found
  }

  /// One line with everything but the hint.
  public var description: String {
    "\(subject) at byte \(offset): expected \(expected), found \(found) (\(code))"
  }

  /// What whoever sees the error can do about it, one sentence.
  public var hint: String {
    switch code {
    case .newerFormat, .unknownTag:
      "A newer version may have written this: keep the bytes and read them again after an upgrade."
    case .truncated, .damaged:
      "The bytes were cut or changed on their way: fetch them again, or take them from another copy."
    case .outOfMemory:
      "The bytes may be right: read them again when more memory is free."
    case .limitExceeded:
      "Make it smaller: store large bytes as an asset, or split the write."
    default:
      "The writer of these bytes does not follow the format: keep them and report it."
    }
  }
}
