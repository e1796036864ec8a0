@testable import EventStore
@testable import Replicator

/// A machine whose effects are performed, and whose timers the test fires.
struct DrivenReplicator {
  private var machine = ReplicatorMachine(policy: SyncPolicy(), selection: .all)
  private let runner: EffectRunner
  private(set) var reports: [SyncReport] = []
  private(set) var timers: [ReplicatorTimer: ClosedRange<Int64>] = [:]

  init(_ device: Device, _ remote: any RemoteLog) {
    runner = EffectRunner(
      store: device.store, remote: remote, selection: .all, pageBytesMax: 1 << 20,
      makeRandom: device.makeRandom)
  }

  /// Gives an event to the machine, and performs its effects until it rests.
  mutating func step(_ event: ReplicatorEvent) async {
    if case .timerFired(let timer) = event { timers[timer] = nil }
    var effects = machine.step(event)
    while !effects.isEmpty {
      switch effects.removeFirst() {
      case .round(let effect): effects += machine.step(.completed(await runner.perform(effect)))
      case .setTimer(let timer, let range): timers[timer] = range
      case .announce: await runner.announce()
      case .report(let report): reports.append(report)
      }
    }
  }

  /// Makes the next round, as if its time had come.
  ///
  /// - Returns: its report.
  mutating func poll() async -> SyncReport? {
    let count = reports.count
    await step(.timerFired(.next))
    return reports.count == count + 1 ? reports.last : nil
  }
}
