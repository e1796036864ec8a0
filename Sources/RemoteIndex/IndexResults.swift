internal import LMDB
internal import OperationFormat
internal import Replicator

extension IndexedList {
  init(_ row: ListRow) { self.init(remote: row.remote, events: row.events) }
}

extension IndexedState {
  init(_ row: LogRow) { self.init(fate: row.fate, floor: row.floor) }
}

extension RemoteError {
  /// What a transaction of an index gave, with errors of all layers as those of a remote.
  static func ofIndex<Value>(_ outcome: Result<Value, any Error>, _ index: String) throws(RemoteError)
    -> Value
  {
    switch outcome {
    case .success(let value): return value
    case .failure(let error as RemoteError): throw error
    case .failure(let error as FormatError):
      throw RemoteError(
        .damaged, "\(index) has a row that cannot be read: \(error)",
        hint: "restore the server's database from a backup", underlying: error)
    case .failure(let error as LMDBError) where [.noSpace, .mapFull].contains(error.code):
      throw RemoteError(
        .overQuota, "\(index) has no room: \(error)", hint: "free space on the server's disk",
        underlying: error)
    case .failure(let error):
      throw RemoteError(
        .system, "\(index) failed: \(error)", hint: "look at the server's disk, and try again",
        underlying: error)
    }
  }
}
