/// A name of a zone, an owner, a record, a record type, a field or a key of a map.
///
/// Names are compared, ordered and hashed by their UTF-8 bytes. So `"é"` as one scalar and `"é"` as two
/// scalars are different names, although they are equal as `String`.
public struct Name: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name's text, unchanged.
  public var rawValue: String

  /// Creates a name. The encoder checks its length.
  public init(_ text: String) { rawValue = text }

  /// Creates a name, as ``init(_:)`` does.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates a name, as ``init(_:)`` does.
  public init(stringLiteral text: String) { rawValue = text }

  /// Returns whether two names have the same UTF-8 bytes.
  public static func == (a: Name, b: Name) -> Bool { a.rawValue.hasSameUTF8(as: b.rawValue) }

  /// Returns whether two names have different UTF-8 bytes.
  public static func != (a: Name, b: Name) -> Bool {
    // Without this, the standard library's `!=` for raw values would compare the names as `String`.
    !(a == b)
  }

  /// Orders by UTF-8 bytes.
  public static func < (a: Name, b: Name) -> Bool { a.rawValue.precedesByUTF8(b.rawValue) }

  /// Hashes the UTF-8 bytes.
  public func hash(into hasher: inout Hasher) { rawValue.hashUTF8(into: &hasher) }

  /// The name's text.
  public var description: String { rawValue }

  /// The length in UTF-8 bytes.
  package var byteCount: Int { rawValue.utf8.count }

  /// The text of the name that fills `bytes`, without a copy.
  @_lifetime(copy bytes)
  package static func text(in bytes: RawSpan) throws(FormatError) -> UTF8Span {
    do {
      return try UTF8Span(validating: Span(_bytes: bytes))
    } catch {
      throw FormatError(.invalidUTF8, at: 0, in: "name", expected: "UTF-8", found: "other bytes")
    }
  }

  /// Throws `.limitExceeded` if the name is longer than `bytesMax`, and `.invalid` if it is empty, unless
  /// `canBeEmpty`.
  func check(_ subject: StaticString, bytesMax: Int, canBeEmpty: Bool = false) throws(FormatError) {
    try checkByteCount(byteCount, in: subject, min: canBeEmpty ? 0 : 1, max: bytesMax)
  }
}

extension ByteWriter {
  /// Appends the byte count of `name` and its UTF-8.
  @inlinable
  package mutating func append(name: Name) {
    append(text: name.rawValue)
  }
}

/// Throws `.limitExceeded` or `.invalid` if a part to encode is too long or too short.
func checkByteCount(_ count: Int, in subject: StaticString, min: Int = 0, max: Int) throws(FormatError) {
  if count > max {
    throw FormatError(
      .limitExceeded, at: 0, in: "\(subject)", expected: "at most \(max) bytes", found: "\(count)")
  }
  if count < min {
    throw FormatError(.invalid, at: 0, in: "\(subject)", expected: "at least \(min) byte", found: "\(count)")
  }
}
