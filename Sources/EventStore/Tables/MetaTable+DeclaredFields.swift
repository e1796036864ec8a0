import LMDB
import OperationFormat

// The row `kinds`:
//
// | bytes | what |
// |---|---|
// | 1 | version, 1 |
// | rest | a map of types: see ``DeclaredFields`` |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

/// The fields that apps have declared.
extension MetaTable {
  /// The most bytes that the row may have: some thousand fields.
  static var declaredBytesMax: Int { 256 << 10 }

  /// The fields that apps have declared; none in a store that no app with a declaration has opened.
  ///
  /// - Throws: ``StoreError`` `damaged`, `newerFormat`.
  func declaredFields() throws -> DeclaredFields {
    do {
      return try storedTypes().map { try DeclaredFields(stored: $0) } ?? DeclaredFields()
    } catch let error as FormatError {
      throw StoreError(
        error.code == .newerFormat ? .newerFormat : .damaged,
        "the row “\(MetaName.kinds.rawValue)”, with the fields that the app declares, cannot be read: \(error)",
        hint: "open the store once with its app, which writes the row again; records and log do not need it",
        underlying: error)
    }
  }

  private func storedTypes() throws -> [Name: Value]? {
    try transaction.withCheckedValue(of: .meta(.kinds), in: tables.meta) { row in
      var reader = ByteReader(row)
      try reader.expectVersion("declared fields")
      guard case .map(let types) = try Value(decoding: row.extracting(reader.position...)) else {
        throw DeclaredFields.damage("a map of types")
      }
      return types
    }
  }

  /// The row that has the fields of an app too; nil if the stored one has them.
  ///
  /// Types that this app does not declare stay: another version of it, or an extension, has declared them. If
  /// the row becomes too large, they go, and then the app's own do too: then tools do as if nothing was
  /// declared. A row that cannot be read is replaced.
  func row(keeping fields: DeclaredFields) throws -> [UInt8]? {
    let own = fields.stored
    var known: [Name: Value]?
    do {
      known = try storedTypes()
    } catch is FormatError {
      known = nil
    }
    let all = (known ?? [:]).merging(own) { $1 }
    for types in [all, own] {
      if types == known { return nil }
      if let row = Self.row(types) { return row }
    }
    return known == [:] ? nil : Self.row([:])
  }

  /// Nil if the row would be too large.
  private static func row(_ types: [Name: Value]) -> [UInt8]? {
    var writer = ByteWriter()
    writer.append(1)
    do throws(FormatError) {
      try writer.append(Value.map(types).encoded())
    } catch {
      // It is longer or deeper than a value may be.
      return nil
    }
    guard writer.count + CheckedRow.checksumBytes <= declaredBytesMax else { return nil }
    let key = TableKey.meta(.kinds)
    writer.appendChecksum(under: key.span)
    return writer.bytes
  }
}

extension MetaTable where Source == TableStorage {
  /// Keeps the fields that an app has declared.
  func keep(_ fields: DeclaredFields) throws {
    guard let row = try row(keeping: fields) else { return }
    let key = TableKey.meta(.kinds)
    try transaction.put(row.span.bytes, for: key.span, in: tables.meta)
  }
}
