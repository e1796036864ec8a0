import LMDB
import OperationFormat

/// Folds entries of the log again, into other states than the first time: for a rebuild, a verification, or
/// the past.
struct LogReplay {
  /// A step's transaction of LMDB ends at as many bytes of log, so that memory stays bounded and others get
  /// their turn.
  static let stepBytesMax = 8 << 20

  /// And at as many steps of work, one transaction more or less: others who write wait as long.
  static let stepWorkMax = 16_384

  let store: StoreTransaction
  private let incarnations: UInt32

  init(_ store: StoreTransaction) throws {
    self.store = store
    incarnations = try store.storage.incarnations.lastNumber()
  }

  /// Folds one entry, or what is left of it: see
  /// ``StoreTransaction/foldEntry(_:body:into:receivedMilliseconds:from:)``.
  @discardableResult
  func fold(
    _ header: LogEntryHeader, body: RawSpan, into state: StateNumber, from first: Int = 0
  ) throws -> Int? {
    var received: UInt64?
    if incarnations > 0 {
      let storage = store.storage
      received = try storage.placements.leastReceived(
        of: header.replica, header.epoch, header.sequence, in: header.zone)
    }
    return try store.foldEntry(header, body: body, into: state, receivedMilliseconds: received, from: first)
  }
}
