/// How an entry is put.
@usableFromInline
package struct PutOptions: OptionSet, Sendable {
  @usableFromInline package var rawValue: UInt32

  @inlinable package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// The key is greater than all others of the table, so LMDB need not search. If it is not greater, the put
  /// throws `.keyExists` (MDB_APPEND).
  @inlinable package static var append: PutOptions { PutOptions(rawValue: 1) }

  /// An entry with the same key stays: then the put throws `.keyExists` (MDB_NOOVERWRITE).
  @inlinable package static var absentOnly: PutOptions { PutOptions(rawValue: 2) }
}
