/// The identity of a record: its zone and its name in the zone.
///
/// Text form: `zone:record-name`. The first `:` is the separator; the record's name after it is not encoded.
public struct RecordID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The zone that holds the record.
  public var zone: ZoneID
  /// The record's name in its zone: 1 to 255 bytes.
  public var name: Name

  /// Creates an identity. The encoder checks the lengths.
  public init(zone: ZoneID, name: Name) {
    self.zone = zone
    self.name = name
  }

  /// Parses the text form; nil for anything else, or when a part is too long.
  public init?(_ text: String) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
      let zone = ZoneID(String(text[..<colon]))
    else { return nil }
    let name = Name(String(text[text.utf8.index(after: colon)...]))
    guard 1...Limits.recordNameBytesMax ~= name.byteCount else { return nil }
    self.init(zone: zone, name: name)
  }

  /// The text form: `zone:record-name`.
  public var description: String { "\(zone):\(name)" }

  /// Orders by zone, then by the UTF-8 bytes of the name.
  public static func < (a: RecordID, b: RecordID) -> Bool {
    a.zone == b.zone ? a.name < b.name : a.zone < b.zone
  }
}
