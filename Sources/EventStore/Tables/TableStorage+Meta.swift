import LMDB
package import OperationFormat

extension TableStorage {
  /// The last timestamp given out or seen.
  package func clock() throws -> Timestamp {
    try transaction.withValue(of: TableKey.meta(.clock).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return Timestamp(rawValue: try reader.readLittleEndian("clock", as: UInt64.self))
    } ?? Timestamp(rawValue: 0)
  }

  package func setClock(_ timestamp: Timestamp) throws {
    try put(.meta(.clock), in: tables.meta) { $0.append(littleEndian: timestamp.rawValue) }
  }

  package func name(_ number: NameNumber) throws -> Name {
    try interned.names.identity(of: number, in: tables.names, transaction)
  }
}
