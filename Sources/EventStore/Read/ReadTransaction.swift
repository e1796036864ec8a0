/// A read of a store: all of its verbs see one commit. It lasts as long as the closure of
/// ``LocalStore/read(_:)``.
///
/// ``RecordReading`` has the verbs that read records; those here read the log.
public struct ReadTransaction: ~Copyable, RecordReading {
  let identity: StoreIdentity
  public let reader: RecordReader

  init(
    _ transaction: consuming LMDBTransaction, tables: Tables, interned: Interned, identity: StoreIdentity
  ) {
    self.identity = identity
    reader = RecordReader(ReadView(transaction, tables: tables, interned: interned))
  }

  private init(_ reader: RecordReader, _ identity: StoreIdentity) {
    self.identity = identity
    self.reader = reader
  }

  /// The same read, for a value that keeps one.
  borrowing func alias() -> ReadTransaction { ReadTransaction(reader, identity) }

  var readView: ReadView { reader.view }
  var transaction: LMDBTransaction {
    _read { yield reader.view.transaction }
  }
  var tables: Tables { reader.view.tables }
  var interned: Interned { reader.view.interned }
}
