import EventStore
import OperationFormat
import Replicator

/// Takes writes of a world's devices back, and brings them back.
struct SimulatedUndo: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Takes back, or brings back, some in a row.
  func run(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    for _ in 0...choices.next(below: 5) { try step(on: device, &choices) }
  }

  /// Mostly what the app's menu would name; else any transaction of the log, also one that cannot be taken back.
  private func step(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store, device.configuration.role == .writer else { return }
    let manager = store.undoManager()
    let position: Position?
    var undoes = true
    switch choices.next(below: 8) {
    case 0...3: position = try manager.next?.position
    case 4...5: (position, undoes) = (try manager.nextRedo?.position, false)
    default:
      let last = try store.read { try $0.lastPosition() }.rawValue
      position = Position(rawValue: UInt64(choices.next(below: Int(last) + 2)))
      undoes = choices.next(below: 3) > 0
    }
    guard let position else { return }
    try run(position, undoes, on: device, store)
  }

  private func run(
    _ position: Position, _ undoes: Bool, on device: SimulatedDevice, _ store: LocalStore
  ) throws {
    mark(.undo)
    note("d\(device.number) \(undoes ? "takes back" : "brings back") position \(position)")
    let end = try store.read { try $0.lastPosition() }
    try act(device) {
      Task(executorPreference: executor) { [world] in
        do {
          do {
            let report = try await undoes ? store.undo(position) : store.redo(position)
            try SimulatedUndo(world).didUndo(report, after: end, device, store)
          } catch let error as StoreError {
            try SimulatedUndo(world).didFail(error, after: end, device, store)
          }
        } catch {
          world.keep(error)
        }
      }
    }
  }

  private func didUndo(
    _ report: UndoReport, after end: Position, _ device: SimulatedDevice, _ store: LocalStore
  ) throws {
    world.count(.undone)
    if !report.kept.isEmpty { world.count(.undoneInPart) }
    let entries = try entries(after: end, store)
    guard entries.map(\.position) == report.positions else {
      throw SimulationFailure(
        .undoneIsGone, "d\(device.number) was told \(report.positions), and wrote \(entries.map(\.position))")
    }
    device.writeOutcomes.append(
      WriteOutcome(operationCounts: entries.map(\.transaction.operations.count), isLogged: true))
    try device.undone.add(report, last: store.read { try $0.lastPosition() }) { position in
      try store.read { try $0.entry(at: position) }.transaction.zone
    }
    device.undoUnchecked = report
    device.view.writes += 1
    guard !device.isDying, !report.positions.isEmpty else { return }
    try SimulatedRounds(world).deliver(.localCommit, device)
  }

  private func didFail(
    _ error: StoreError, after end: Position, _ device: SimulatedDevice, _ store: LocalStore
  ) throws {
    note("d\(device.number) undo failed: \(ErrorChecker.code(of: error))")
    world.count(.undoRefused)
    if error.code == .commitUncertain { device.undone.isUncertain = true }
    let made = try entries(after: end, store)
    let isUncertain = error.code == .commitUncertain
    device.writeOutcomes.append(
      WriteOutcome(
        operationCounts: made.map(\.transaction.operations.count), isLogged: isUncertain ? nil : false))
    try ErrorChecker(world).expect(
      error,
      [
        .full, .commitFailed, .commitUncertain, .closed, .notUndoable, .positionUnknown, .retired,
        .outOfOrder,
      ])
  }

  /// What the store itself has written after a position.
  private func entries(after end: Position, _ store: LocalStore) throws -> [LogEntry] {
    var found: [LogEntry] = []
    try store.read { transaction in
      try transaction.history(after: end) { entry in
        if entry.transaction.replica == store.identity.replica { found.append(entry) }
        return true
      }
    }
    return found
  }
}
