import EventStore
import OperationFormat

/// Checks that a store's past is a fold of its log up to there: invariant 21.
struct PastChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Reads the store as it was at any position, and compares it with a fold of the log up to there that keeps nothing.
  func check(_ device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store else { return }
    let last = try store.read { try $0.lastPosition() }.rawValue
    let position = Position(rawValue: UInt64(choices.next(below: Int(last) + 1)))
    mark(.pastRead)
    note("d\(device.number) reads the past at position \(position)")
    let found: [String]
    do {
      found = try store.snapshotBlockingThisThread(at: position).read { try Self.seen($0) }
    } catch {
      return try ErrorChecker(world).expect(
        error, device.history == .everything ? [.outOfOrder] : [.outOfOrder, .retired])
    }
    let expected = try store.withScratchFold(through: position) { try Self.seen($0) }
    if found == expected { return }
    let difference = zip(found, expected).first { $0 != $1 } ?? (found.last ?? "", expected.last ?? "")
    throw SimulationFailure(
      .pastIsFold,
      "d\(device.number) was, at position \(position), \(difference.1), and the past says \(difference.0)")
  }

  /// A line for each zone and record.
  private static func seen(_ transaction: borrowing ReadTransaction) throws -> [String] {
    var lines: [String] = []
    for zone in try transaction.zones() {
      lines.append("\(zone) \(try transaction.digest(of: zone))")
      lines += try transaction.records(in: zone).map { "\($0)" }
      lines.append("\(try transaction.conflicts(in: zone).count) conflicts")
      lines += try transaction.forwardings(in: zone).map { "\($0)" }
    }
    return lines
  }
}
