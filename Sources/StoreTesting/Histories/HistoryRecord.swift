import OperationFormat

/// The record that a file becomes.
///
/// Its zone is the path's first component, and its name is the whole path. If the path is too long for a
/// name, or not UTF-8, the name is its SHA-256.
struct HistoryRecord: Hashable {
  static let type: Name = "file"
  static let blob: Name = "blob"
  static let size: Name = "size"
  static let mode: Name = "mode"
  static let path: Name = "path"

  let id: RecordID
  /// The path, if it cannot be the name.
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
  /// Orders by zone, then by name, as a store orders its records.
  func precedes(_ other: RecordID) -> Bool {
    zone == other.zone ? name < other.name : zone < other.zone
  }
}
