internal import LMDB
internal import OperationFormat
internal import Replicator

extension IndexRules {
  package mutating func events(of account: String, after offset: UInt64, count: Int) throws -> [[UInt8]] {
    let list = try list(of: account)
    var found: [[UInt8]] = []
    var next = offset
    while next < list.events, found.count < count {
      next += 1
      guard let event = try rows.event(next, of: account) else { break }
      found.append(event)
    }
    return found
  }
}

extension IndexedList {
  package init(_ row: ListRow) { self.init(remote: row.remote, events: row.events) }
}

extension IndexedState {
  package init(_ row: LogRow) { self.init(fate: row.fate, floor: row.floor) }
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
