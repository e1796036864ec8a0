import CRawZstd
import EventStore
import Foundation
import Stores

/// A store's transactions as JSON lines: the usual form for sending a log without a format of its own.
struct JSONLines {
  private(set) var bytes = Data()
  private(set) var operations = 0

  private struct Line: Encodable {
    var replica: String
    var sequence: UInt64
    var time: String
    var zone: String
    var author: String?
    var label: String?
    var operations: [Operation]
  }

  private struct Operation: Encodable {
    var create: String?
    var set: String?
    var delete: String?
    var type: String?
    var field: String?
    var text: String?
    var number: Int64?

    func with(_ value: Value) -> Operation {
      var operation = self
      switch value {
      case .string(let text): operation.text = text
      case .int(let number): operation.number = number
      default: break
      }
      return operation
    }
  }

  init(ofStoreAt directory: String) throws {
    let store = try LocalStore(directory: directory, durability: .consistent)
    defer { store.close() }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    try store.read { tx in
      try tx.history { entry in
        let transaction = entry.transaction
        let line = Line(
          replica: "\(transaction.replica)", sequence: transaction.sequence, time: "\(transaction.timestamp)",
          zone: "\(transaction.zone)", author: transaction.author, label: transaction.label,
          operations: transaction.operations.map(Self.operation))
        bytes.append(try encoder.encode(line))
        bytes.append(UInt8(ascii: "\n"))
        operations += line.operations.count
        return true
      }
    }
  }

  private static func operation(_ operation: LogOperation) -> Operation {
    switch operation {
    case .create(let record, let type): return Operation(create: record.rawValue, type: type.rawValue)
    case .delete(let record): return Operation(delete: record.rawValue)
    case .update(let record, _, let field, .set(let value)):
      return Operation(set: record.rawValue, field: field.rawValue).with(value)
    case .moveAway, .moveHere, .compact, .update:
      preconditionFailure("the histories of benchmarks only set fields: \(operation)")
    case .unknown: return Operation()
    }
  }

  /// The number of bytes when all lines are compressed in one piece, at the same level as segments.
  func packedByteCount() throws -> Int {
    var packed = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
    let count = packed.withUnsafeMutableBytes { packed in
      bytes.withUnsafeBytes {
        ZSTD_compress(packed.baseAddress, packed.count, $0.baseAddress, $0.count, 3)
      }
    }
    guard ZSTD_isError(count) == 0 else { throw RawError(code: 0, what: "zstd") }
    return count
  }
}
