import LMDB
import OperationFormat

/// One zone's transaction, while a write makes it.
final class ZoneDraft {
  /// The zone, and which transaction of its lane this is. The next write uses it too, while ``version`` is
  /// current.
  struct Target {
    var zone: ZoneNumber = .none
    var state: StateNumber = .none
    /// The write's lane in the log. The context has the lane's name in the records.
    var lane = Lane(zone: .none, replica: .none, epoch: 0)
    var sequence: UInt64 = 0
    var renamings: [LaneRenaming] = []
    var parent: LaneParent?
    var context = CausalContext(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    /// The ``TableStorage/zonesVersion`` at which this was read.
    var version = -1
  }

  /// What belongs to the operations that are encoded so far.
  struct Content {
    /// The text that the last operation has inserted; nil if it was another operation.
    var typed: TypedText?
    /// The floor that the transaction names, which is all that it does.
    var floor: UInt64?
    /// The assets that the operations name.
    var assets: [AssetReference] = []
    /// The encoder's index of the first names of types and fields.
    var numbered: [(name: NameNumber, index: Int)] = []
    static let numberedMax = 16
  }

  private struct State: ~Copyable {
    var id: ZoneID?
    var bits: SIMD4<UInt64>?
    var target = Target()
    var encoder = BodyEncoder()
    var content = Content()
  }

  // No access to a field meets another access to the same field; dynamic checks of that would cost more than
  // the accesses.
  @exclusivity(unchecked) private var current = State()

  var id: ZoneID? { current.id }

  @inline(__always) var target: Target {
    _read { yield current.target }
    _modify { yield &current.target }
  }

  @inline(__always) var encoder: BodyEncoder {
    _read { yield current.encoder }
    _modify { yield &current.encoder }
  }

  @inline(__always) var content: Content {
    _read { yield current.content }
    _modify { yield &current.content }
  }

  var zone: ZoneNumber { target.zone }
  var state: StateNumber { target.state }
  /// The index of the next operation.
  var nextIndex: UInt32 { UInt32(encoder.operationCount) }

  func begin(_ id: ZoneID, _ target: Target) {
    current.id = id
    current.bits = id.bits
    current.target = target
  }

  /// Whether it is the draft of a zone.
  @inline(__always)
  func isOf(_ zone: ZoneID) -> Bool {
    if let bits = current.bits, let others = zone.bits, bits == others { return true }
    return current.id == zone
  }

  /// Removes the transaction's operations. The target stays for the next one.
  func removeOperations() {
    encoder.removeAll()
    content.typed = nil
    content.floor = nil
    if !content.assets.isEmpty { content.assets.removeAll() }
    content.numbered.removeAll(keepingCapacity: true)
  }

  /// Removes everything, because the zone is deleted.
  func removeAll() {
    current.id = nil
    current.bits = nil
    current.target.zone = .none
    removeOperations()
  }

  /// Makes the target that of the next transaction, after this one was appended.
  func advance(_ version: Int) {
    target.sequence += 1
    target.context.sequence += 1
    target.parent = nil
    target.version = version
  }

  // MARK: Limits

  /// Begins an operation.
  ///
  /// - Returns: its index.
  /// - Throws: ``StoreError`` `transactionTooLarge` if the transaction has no room for it.
  func beginOperation() throws -> UInt32 {
    let count = encoder.operationCount
    try check(
      operations: count + 1, bytes: encoder.byteCount, steps: encoder.steps + FoldWork.steps(ofPayload: 0))
    return UInt32(count)
  }

  /// Refuses a transaction that no segment could hold. It is checked while the write runs, and exactly at its
  /// end.
  func check(operations: Int, bytes: Int, steps: Int) throws {
    // A later renaming of units may need room.
    let renaming = encoder.renaming
    // A segment also has the header: at most two names, two identities and numbers.
    let bytesMax = Limits.transactionBytesMax - 512 - renaming.bytes
    let steps = steps + renaming.steps
    guard operations <= Limits.transactionOperationsMax, bytes <= bytesMax else {
      throw StoreError(
        .transactionTooLarge,
        "a write of \(operations) operations and \(bytes) bytes in one zone is over the limit of "
          + "\(Limits.transactionOperationsMax) operations and \(bytesMax) bytes",
        hint: "split it into several writes")
    }
    guard steps <= Limits.foldStepsMax else { throw StoreError.tooMuchWork("a write", steps) }
  }

  /// How much of a transaction's limits on operations, bytes and work is used: 0 for none, 1 for all.
  var fullness: Double {
    let renaming = encoder.renaming
    return max(
      Double(encoder.operationCount) / Double(Limits.transactionOperationsMax),
      Double(encoder.byteCount + renaming.bytes) / Double(Limits.transactionBytesMax),
      Double(encoder.steps + renaming.steps) / Double(Limits.foldStepsMax))
  }
}

extension ZoneDraft.Target {
  /// What this store's next transaction in a zone follows.
  init(of zone: ZoneNumber, _ row: ZoneRow, in store: StoreTransaction) throws {
    let storage = store.storage
    let replica = try storage.replicas.makeNumber(for: store.identity.replica)
    let epoch = row.ownEpoch(store.identity)
    let sequence = try storage.lastSequence(of: replica, epoch, in: zone) + 1
    var context = CausalContext(
      zone: zone, replica: replica, epoch: epoch, sequence: sequence, base: row.base)
    context.lineage = try storage.lineage(of: replica, epoch, in: zone)
    let parent = context.lineage.first
    context.base = try store.base(row, after: sequence - 1, of: replica, epoch, parent, zone)
    context.floor = try storage.stateRow(row.state).floor
    if let base = context.base { context.seesAllPlaced = try store.seesAll(base, in: zone) }
    let renamings = try storage.lanes.renamings(of: zone)
    self.init(
      zone: zone, state: row.state, lane: Lane(zone: zone, replica: replica, epoch: epoch),
      sequence: sequence, renamings: renamings,
      // The first transaction of a lane that continues another one names it.
      parent: sequence == 1 ? parent : nil,
      context: renamings.isEmpty ? context : renamings.inOldNames(context), version: storage.zonesVersion)
  }
}
