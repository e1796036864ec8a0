/// The identity of a zone, the unit of sync and sharing: its owner and its name.
///
/// Text form: `name` for a zone of this store's user, else `owner/name`. In both parts, `/`, `:`, `%` and
/// control characters are percent-encoded (`%2F`). So each zone has exactly one text form.
public struct ZoneID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// Who owns the zone; empty for this store's user. At most 128 bytes.
  public var owner: Name
  /// The zone's name, unique among its owner's zones: 1 to 128 bytes.
  public var name: Name

  /// Creates an identity. The encoder checks the lengths.
  public init(owner: Name = "", name: Name) {
    self.owner = owner
    self.name = name
  }

  /// Parses the text form; nil for anything else, or when a part is too long.
  public init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count <= 2 else { return nil }
    var names: [Name] = []
    for part in parts {
      guard let name = Self.decoded(part) else { return nil }
      names.append(name)
    }
    guard let name = names.popLast() else { return nil }
    self.init(owner: names.first ?? "", name: name)
  }

  /// The text form: `name` or `owner/name`, percent-encoded.
  public var description: String {
    owner.byteCount == 0 ? Self.encoded(name) : "\(Self.encoded(owner))/\(Self.encoded(name))"
  }

  /// Orders by owner, then by name, both by their UTF-8 bytes.
  public static func < (a: ZoneID, b: ZoneID) -> Bool {
    a.owner == b.owner ? a.name < b.name : a.owner < b.owner
  }

  /// The bits of both names. Identities with equal bits are equal; equal identities may have different bits.
  /// Nil if the bits are not available.
  @inlinable @inline(__always)
  package var bits: SIMD4<UInt64>? {
    guard let owner = owner.rawValue.bits, let name = name.rawValue.bits else { return nil }
    return SIMD4(lowHalf: owner, highHalf: name)
  }

  /// Throws unless the lengths of both parts are allowed.
  func check(_ subject: StaticString) throws(FormatError) {
    try owner.check(subject, bytesMax: Limits.nameBytesMax, canBeEmpty: true)
    try name.check(subject, bytesMax: Limits.nameBytesMax)
  }

  private static func encoded(_ name: Name) -> String {
    var text = ""
    for scalar in name.rawValue.unicodeScalars {
      if scalar == "/" || scalar == ":" || scalar == "%" || scalar.properties.generalCategory == .control {
        for byte in UTF8.encode(scalar)! {
          text += "%" + hexadecimalText(UInt128(byte), digits: 2).uppercased()
        }
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  private static func decoded(_ part: Substring.UTF8View) -> Name? {
    var bytes: [UInt8] = []
    var rest = part
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst(), let low = rest.popFirst(),
          let highDigit = hexDigitValue(high, upperCaseToo: true),
          let lowDigit = hexDigitValue(low, upperCaseToo: true)
        else { return nil }
        bytes.append(highDigit << 4 | lowDigit)
      } else {
        bytes.append(byte)
      }
    }
    guard 1...Limits.nameBytesMax ~= bytes.count, let text = String(validating: bytes, as: UTF8.self),
      // Accepts only the canonical form: no character is encoded without need, and digits are in upper case.
      encoded(Name(text)).utf8.elementsEqual(part)
    else { return nil }
    return Name(text)
  }
}
