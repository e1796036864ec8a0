@testable import OperationFormat

/// A transaction's bytes, built field by field in the most obvious way. It is the oracle of the encoder, and
/// it can break each rule of the format separately.
struct NaiveTransaction {
  var headerVersion: UInt8 = 1
  var headerFlags: UInt8
  var id: [UInt8]
  var owner: [UInt8]
  var zone: [UInt8]
  var base: [UInt8]
  var parent: [UInt8]
  var bodyVersion: UInt8 = 1
  var bodyFlags: UInt8
  var timestamp: UInt64
  var writeID: [UInt8]
  var author: [UInt8]
  var label: [UInt8]
  var schemaVersion: [UInt8]
  var names: [[UInt8]]
  var nameCount: UInt64?
  var operations: [(kind: UInt64, payload: [UInt8])]
  var operationCount: UInt64?

  init(_ transaction: LogTransaction) {
    headerFlags = (transaction.base == nil ? 0 : 1) + (transaction.parent == nil ? 0 : 2)
    id = Self.bytes(transaction.id)
    owner = Self.text(transaction.statesOwner ? transaction.zone.owner.rawValue : "")
    zone = Self.text(transaction.zone.name.rawValue)
    base = transaction.base.map { Self.bigEndian($0.incarnation.rawValue) + Self.varint($0.offset) } ?? []
    parent = transaction.parent.map { Self.bytes($0) } ?? []
    bodyFlags =
      (transaction.writeID == nil ? 0 : 1) + (transaction.author == nil ? 0 : 2)
      + (transaction.label == nil ? 0 : 4) + (transaction.schemaVersion == nil ? 0 : 8)
    timestamp = transaction.timestamp.rawValue
    writeID = transaction.writeID.map(Self.littleEndian) ?? []
    author = transaction.author.map(Self.text) ?? []
    label = transaction.label.map(Self.text) ?? []
    schemaVersion = transaction.schemaVersion.map(Self.varint) ?? []
    var table = transaction.names ?? []
    func index(_ name: Name) -> [UInt8] {
      if !table.contains(name) { table.append(name) }
      return Self.varint(UInt64(table.firstIndex(of: name)!))
    }
    operations = []
    for operation in transaction.operations {
      switch operation {
      case .create(let record, let type): operations.append((1, index(record) + index(type)))
      case .delete(let record): operations.append((2, index(record)))
      case .moveAway(let record, let place): operations.append((16, index(record) + Self.place(place)))
      case .moveHere(let record, let type, let place):
        operations.append((17, index(record) + index(type) + Self.place(place)))
      case .update(let record, let type, let field, let change):
        let (kind, operand) = NaiveOperand.bytes(change)
        operations.append((kind, index(record) + index(type) + index(field) + operand))
      case .compact(let floor): operations.append((18, Self.varint(floor)))
      case .unknown(let kind, let payload): operations.append((kind, payload))
      }
    }
    names = table.map { Array($0.rawValue.utf8) }
  }

  var header: [UInt8] { [headerVersion, headerFlags] + id + owner + zone + base + parent }

  var body: [UInt8] {
    var bytes =
      [bodyVersion, bodyFlags] + Self.littleEndian(timestamp) + writeID + author + label + schemaVersion
    bytes += Self.varint(nameCount ?? UInt64(names.count))
    for name in names { bytes += Self.varint(UInt64(name.count)) + name }
    bytes += Self.varint(operationCount ?? UInt64(operations.count))
    for operation in operations {
      bytes += Self.varint(operation.kind) + Self.varint(UInt64(operation.payload.count)) + operation.payload
    }
    return bytes
  }

  var bytes: [UInt8] { header + body }

  static func varint(_ number: UInt64) -> [UInt8] {
    number < 128 ? [UInt8(number)] : [UInt8(number % 128) + 128] + varint(number / 128)
  }

  static func place(_ place: RecordID) -> [UInt8] {
    text(place.zone.owner.rawValue) + text(place.zone.name.rawValue) + text(place.name.rawValue)
  }

  static func text(_ text: String) -> [UInt8] { varint(UInt64(text.utf8.count)) + Array(text.utf8) }

  static func littleEndian(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(number >> (8 * $0) & 255) } }

  static func bigEndian(_ number: UInt128) -> [UInt8] {
    (0..<16).map { UInt8(number >> (120 - 8 * $0) & 255) }
  }

  static func bytes(_ id: TransactionID) -> [UInt8] {
    bigEndian(id.replica.rawValue) + varint(UInt64(id.epoch)) + varint(id.sequence)
  }
}
