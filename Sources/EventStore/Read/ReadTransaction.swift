/// A read of a store: all of its verbs see one commit. It lasts as long as the closure of
/// ``LocalStore/read(_:)``.
///
/// ``RecordReading`` has the verbs that read records; those here read the log.
public struct ReadTransaction: ~Copyable, RecordReading {
  let identity: StoreIdentity
  @usableFromInline let readView: ReadView

  @inlinable public var reader: RecordReader {
    @_lifetime(borrow self) get { RecordReader(readView) }
  }

  init(
    _ transaction: consuming LMDBTransaction, tables: Tables, interned: Interned, identity: StoreIdentity
  ) {
    self.identity = identity
    readView = ReadView(transaction, tables: tables, interned: interned)
  }

  private init(_ readView: ReadView, _ identity: StoreIdentity) {
    self.identity = identity
    self.readView = readView
  }

  /// The same read, for a value that keeps one.
  borrowing func alias() -> ReadTransaction { ReadTransaction(readView, identity) }

  /// The same view, for verbs whose answer any commit may change.
  var view: ReadView {
    readView.footprint?.noteAll()
    return readView
  }

  var transaction: LMDBTransaction {
    _read { yield readView.transaction }
  }
  var tables: Tables { readView.tables }
}
