/// The one error of this target: bytes, a text or a value that a format does not allow.
///
/// Its texts contain places, counts and tags, but no user data.
public struct FormatError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Which kind of rule was broken. Later versions may add codes, so a `switch` needs a `default`.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code's stable text, as it appears in messages.
    public let rawValue: String

    /// Creates a code from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes end too early.
    public static let truncated = Code(rawValue: "truncated")
    /// The bytes have a meaning, but not in its only allowed form: another form, a longer one, or another
    /// order.
    public static let nonCanonical = Code(rawValue: "nonCanonical")
    /// A count, size or depth is over its limit (see ``Limits``).
    public static let limitExceeded = Code(rawValue: "limitExceeded")
    /// A text is not UTF-8.
    public static let invalidUTF8 = Code(rawValue: "invalidUTF8")
    /// A tag is unknown to this version, and no unknown tag is allowed at this place.
    public static let unknownTag = Code(rawValue: "unknownTag")
    /// The version byte or a flag is from a later version of the format.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// A checksum or hash does not match the bytes.
    public static let damaged = Code(rawValue: "damaged")
    /// There are bytes after the end of the value.
    public static let trailingBytes = Code(rawValue: "trailingBytes")
    /// A field has a value that it can never have.
    public static let invalid = Code(rawValue: "invalid")
    /// The bytes are encrypted with a key that this program does not have.
    public static let keyUnknown = Code(rawValue: "keyUnknown")
    /// The bytes are not signed, and must be.
    public static let signatureMissing = Code(rawValue: "signatureMissing")
    /// The log of another owner's zone is to name a zone of this store's user, whose account is not known.
    public static let accountUnknown = Code(rawValue: "accountUnknown")
    /// There was not enough memory to read the bytes, which may be valid.
    public static let outOfMemory = Code(rawValue: "outOfMemory")

    /// The code's stable text.
    public var description: String { rawValue }
  }

  /// Which kind of rule was broken.
  public var code: Code
  /// Where the invalid part starts, in bytes from the start of the whole that was decoded; 0 in an encoder's
  /// error.
  public var offset: Int
  /// The invalid field, as a dotted path: `transaction.author`.
  public var subject: String
  /// What the format requires.
  public var expected: String
  /// What was found.
  public var found: String

  /// Creates an error about the part `subject`, which starts at the byte `offset`.
  public init(_ code: Code, at offset: Int, in subject: String, expected: String, found: String) {
    self.code = code
    self.offset = offset
    self.subject = subject
    self.expected = expected
    self.found = found
  }

  /// One line with all properties but the hint.
  public var description: String {
    "\(subject) at byte \(offset): expected \(expected), found \(found) (\(code))"
  }

  /// What to do about the error, in one sentence.
  public var hint: String {
    switch code {
    case .newerFormat, .unknownTag:
      "A newer version may have written this: keep the bytes and read them again after an upgrade."
    case .keyUnknown:
      "Nothing is lost: it waits. This version has no keys: update the program."
    case .signatureMissing:
      "Nothing is lost: it waits. Ask its writer to update the program, or the zone's owner who wrote it."
    case .truncated, .damaged:
      "The bytes were cut or changed in transit: fetch them again, or take them from another copy."
    case .outOfMemory:
      "The bytes may be valid: read them again when more memory is free."
    case .limitExceeded:
      "Make it smaller: store large bytes as an asset, or split the write."
    default:
      "The writer of these bytes does not follow the format: keep them and report it."
    }
  }
}
