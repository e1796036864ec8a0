import OperationFormat

/// The record that a file becomes.
///
/// Its zone is the path's first component and its name the whole path; one that is too long for a name, or no
/// UTF-8, becomes its SHA-256.
struct HistoryRecord: Hashable {
  static let type: Name = "file"
  static let blob: Name = "blob"
  static let size: Name = "size"
  static let mode: Name = "mode"
  static let path: Name = "path"

  let id: RecordID
  /// The path, where it cannot be the name.
  let path: Value?

  init(path: [UInt8]) {
    let zone = Self.name(path.split(separator: UInt8(ascii: "/")).first ?? [], bytesMax: Limits.nameBytesMax)
    let (name, isPath) = Self.name(path[...], bytesMax: Limits.recordNameBytesMax)
    id = RecordID(zone: ZoneID(name: zone.name), name: name)
    self.path = isPath ? nil : String(validating: path, as: UTF8.self).map { .string($0) } ?? .bytes(path)
  }

  private static func name(_ bytes: ArraySlice<UInt8>, bytesMax: Int) -> (name: Name, isText: Bool) {
    if 1...bytesMax ~= bytes.count, let text = String(validating: bytes, as: UTF8.self) {
      return (Name(text), true)
    }
    return (Name("\(ContentHash(of: Array(bytes).span.bytes))"), false)
  }

  /// Every field that a put sets, each time. A size that is not known is null.
  func fields(_ content: HistoryContent) -> [(Name, Value)] {
    var fields: [(Name, Value)] = [
      (Self.blob, .string(content.blob)), (Self.size, content.size.map { .int($0) } ?? .null),
      (Self.mode, content.mode.map { .string($0) } ?? .null),
    ]
    if let path { fields.append((Self.path, path)) }
    return fields
  }
}

extension RecordID {
  /// The order of zones, and in them of names: that in which a store gives its records.
  func precedes(_ other: RecordID) -> Bool {
    zone == other.zone ? name < other.name : zone < other.zone
  }
}
