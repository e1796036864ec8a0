import LMDB
import OperationFormat

/// One zone's transaction in the making.
final class ZoneDraft {
  /// The zone, and where in its log the transaction comes. It serves the next write too, while ``version`` is current.
  struct Target {
    var zone: ZoneNumber = .none
    var state: StateNumber = .none
    /// The write's lane in the log, and its sequence there. The context has the lane's name in the records.
    var lane = Lane(zone: .none, replica: .none, epoch: 0)
    var sequence: UInt64 = 0
    var renamings: [LaneRenaming] = []
    var parent: LaneParent?
    var context = CausalContext(zone: .none, replica: .none, epoch: 0, sequence: 0, base: nil)
    /// The ``TableStorage/zonesVersion`` that this was read at.
    var version = -1
  }

  /// What belongs to the operations that were encoded so far.
  struct Content {
    /// What the last operation has inserted, if that was text.
    var typed: TypedText?
    /// The assets that the operations name.
    var assets: [AssetReference] = []
    /// The encoder's index of the first names of types and fields.
    var numbered: [(name: NameNumber, index: Int)] = []
    static let numberedMax = 16
  }

  // One thread uses a draft, and accesses never overlap: checks of exclusive access would cost more than they do.
  @exclusivity(unchecked) private(set) var id: ZoneID?
  @exclusivity(unchecked) private var bits: SIMD4<UInt64>?
  @exclusivity(unchecked) var target = Target()
  @exclusivity(unchecked) var encoder = BodyEncoder()
  @exclusivity(unchecked) var content = Content()

  var zone: ZoneNumber { target.zone }
  var state: StateNumber { target.state }
  /// The index of the next operation.
  var nextIndex: UInt32 { UInt32(encoder.operationCount) }

  func begin(_ id: ZoneID, _ target: Target) {
    self.id = id
    bits = id.bits
    self.target = target
  }

  /// Whether it is a zone's.
  @inline(__always)
  func isOf(_ zone: ZoneID) -> Bool {
    if let bits, let others = zone.bits, bits == others { return true }
    return id == zone
  }

  /// Removes the transaction's operations. The target stays for the next one.
  func removeOperations() {
    encoder.removeAll()
    content.typed = nil
    if !content.assets.isEmpty { content.assets.removeAll() }
    content.numbered.removeAll(keepingCapacity: true)
  }

  /// Removes all, for a zone that is deleted.
  func removeAll() {
    id = nil
    bits = nil
    target.zone = .none
    removeOperations()
  }

  /// Moves on to the transaction after the one that was appended.
  func advance(_ version: Int) {
    target.sequence += 1
    target.context.sequence += 1
    target.parent = nil
    target.version = version
  }

  // MARK: Limits

  /// Begins an operation, if the transaction has room for one more.
  func beginOperation() throws -> UInt32 {
    let count = encoder.operationCount
    try check(
      operations: count + 1, bytes: encoder.byteCount, steps: encoder.steps + FoldWork.steps(ofPayload: 0))
    return UInt32(count)
  }

  /// Refuses what no segment could hold: checked while the write runs, and exactly at its end.
  func check(operations: Int, bytes: Int, steps: Int) throws {
    // A later renaming of units may need room.
    let renaming = encoder.renaming
    // In a segment a header comes with the body: at most two names, two identities and numbers.
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

  /// How much of the operations, bytes or work of a transaction is used: 0 for none, 1 for all.
  var fullness: Double {
    let renaming = encoder.renaming
    return max(
      Double(encoder.operationCount) / Double(Limits.transactionOperationsMax),
      Double(encoder.byteCount + renaming.bytes) / Double(Limits.transactionBytesMax),
      Double(encoder.steps + renaming.steps) / Double(Limits.foldStepsMax))
  }
}
