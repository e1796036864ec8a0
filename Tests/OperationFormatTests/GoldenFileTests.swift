import Testing

@testable import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files in `Golden` were built from the byte tables, not by the encoder. They must stay readable: a
/// change of a format adds files and changes none.
@Suite("Bytes from earlier versions")
struct GoldenFileTests {
  static let values: [(String, Value)] = [
    ("value-null", .null), ("value-false", false), ("value-true", true),
    ("value-int-zero", 0), ("value-int-negative", -1000), ("value-int-least", .int(.min)),
    ("value-double", -1.5), ("value-double-negative-zero", .double(-0.0)),
    ("value-double-nan", .double(.nan)),
    ("value-decimal", .decimal(DecimalNumber("-19.99")!)),
    ("value-decimal-least", .decimal(DecimalNumber(coefficient: .min, exponent: 38)!)),
    ("value-string", "Zürich 😀"), ("value-bytes", .bytes([0, 127, 128, 255])),
    ("value-date", .date(microseconds: -1)),
    ("value-uuid", .uuid(UniqueID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")!)),
    ("value-reference", .reference(Reference(record: "note-1"))),
    (
      "value-reference-zone",
      .reference(Reference(zone: "ann/notes", record: "note-1", rule: .nullify))
    ),
    (
      "value-asset",
      .asset(
        AssetReference(
          hash: ContentHash("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")!, byteCount: 3
        ))
    ),
    ("value-array", [1, "a", []]), ("value-map", ["é": .null, "a": true, "b": [:]]),
  ]

  static let transactions: [(String, LogTransaction)] = [
    ("transaction-minimal", Examples.minimal), ("transaction-full", Examples.full),
    ("transaction-unknown", Examples.unknown), ("transaction-changes", Examples.changes),
    ("transaction-contribution", Examples.contribution), ("transaction-moves", Examples.moves),
  ]

  @Test("Values open, and are written as they were", arguments: values)
  func valuesOpen(file: String, value: Value) throws {
    let bytes = try Self.read(file)
    let decoded = try Value(decoding: bytes.span.bytes)
    #expect(decoded == value)
    let again = try value.encoded()
    #expect(again == bytes)
  }

  @Test("Transactions open, and are written as they were", arguments: transactions)
  func transactionsOpen(file: String, transaction: LogTransaction) throws {
    let bytes = try Self.read(file)
    let decoded = try LogTransaction(decoding: bytes.span.bytes)
    #expect(decoded == transaction)
    let again = try transaction.encoded()
    #expect(again == bytes)
  }

  struct NoFile: Error { let name: String }

  /// The bytes of a file of hexadecimal text beside these tests.
  static func read(_ name: String, besides source: String = #filePath) throws -> [UInt8] {
    let folder = source.split(separator: "/").dropLast().joined(separator: "/")
    guard let file = fopen("/\(folder)/Golden/\(name).hex", "r") else { throw NoFile(name: name) }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&text, 1, text.count, file)
    return bytes(hex: String(decoding: text[..<count], as: UTF8.self))
  }
}
