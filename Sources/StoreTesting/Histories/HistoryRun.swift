import EventStore
import OperationFormat
import Replicator

/// One run of a history.
final class HistoryRun {
  /// The most passes over all devices until none moves anything. Two are enough if every sync fetches and
  /// ships all.
  private static let passesMax = 32

  let options: HistoryOptions
  let devices: [HistoryDevice]
  var report = HistoryReport()
  /// The number of transactions of each record, to find the most written one.
  var writes: [RecordID: Int] = [:]
  private let counter = CountingRemote.Counter()
  private let isDealt: Bool
  private var authors: [String: Int] = [:]
  private var now: Int64 = 0
  private let dealing: SeededRandom
  private var chances: SeededRandom

  init(_ options: HistoryOptions, survey: HistorySurvey, directory: String) async throws {
    self.options = options
    let random = SeededRandom(seed: options.seed)
    let count = options.devices ?? min(max(survey.authors, 1), HistoryOptions.devicesMax)
    isDealt = survey.authors < count
    dealing = random.stream(3)
    chances = random.stream(4)
    let open = try await options.remote.make(random: random.stream(5))
    var devices: [HistoryDevice] = []
    do {
      for index in 0..<count {
        let digits = String(index)
        let name = "d" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
        devices.append(
          try HistoryDevice(
            name: name, directory: "\(directory)/\(name)", isKept: options.keepDirectory != nil,
            remote: CountingRemote(try await open(), counter), random: random.stream(UInt64(index) + 16)))
      }
    } catch {
      for device in devices { device.store.close() }
      throw error
    }
    self.devices = devices
    report.devices = devices.map(\.name)
  }

  func close() {
    for device in devices { device.store.close() }
  }

  // MARK: Writing

  /// Makes a commit on its author's device, with the syncs that are due.
  func write(_ commit: HistoryCommit) async throws {
    let device = device(of: commit)
    // The times of a history may go back; the times of its writes must not.
    now = max(now + 1, Self.clamped(commit.milliseconds))
    device.clock.milliseconds = options.clock == .history ? now : Self.clamped(commit.authorMilliseconds)
    device.commits += 1
    report.commits += 1
    let isDue = device.commits.isMultiple(of: options.syncEvery) && !isOffline()
    if isDue { _ = try await sync(device) }
    try await HistoryWrite.perform(commit, on: device.store, &report, &writes)
    if isDue { _ = try await sync(device) }
  }

  /// Draws a number for every sync that is due.
  private func isOffline() -> Bool { Double(chances.next() >> 11) * 0x1p-53 < options.offlineChance }

  private func device(of commit: HistoryCommit) -> HistoryDevice {
    if isDealt {
      var random = dealing.stream(UInt64(report.commits))
      return devices[random.next(below: devices.count)]
    }
    let index = authors[commit.author] ?? authors.count
    authors[commit.author] = index
    return devices[index % devices.count]
  }

  /// A time that a timestamp can hold, with room for a clock that advances.
  private static func clamped(_ milliseconds: Int64) -> Int64 {
    min(max(milliseconds, 0), Int64(Timestamp.millisecondsMax) - (1 << 32))
  }

  // MARK: Syncing

  /// Makes a round.
  ///
  /// - Returns: whether anything moved.
  private func sync(_ device: HistoryDevice) async throws -> Bool {
    let round = try await device.replicator.syncOnce()
    report.rounds += 1
    report.segments += round.sentSegments
    report.bytesShipped += round.bytesSent
    report.folded += round.received
    if let zone = round.zones.first(where: { !Self.isFine($0.status) }) {
      throw HistoryError(
        .syncFailed, "zone \(zone.zone) of device \(device.name) is not in sync: \(zone.status)",
        hint: "keep the stores with --keep and look at them with replay")
    }
    return round.hasMoved
  }

  private static func isFine(_ status: ZoneStatus) -> Bool {
    switch status {
    case .inSync, .unchanged, .local, .unfinished: true
    default: false
    }
  }

  /// Syncs all devices in turn until a whole pass moves nothing. The clocks show the end of the history.
  func settle(_ progress: (HistoryProgress) throws -> Void) async throws {
    let last = devices.reduce(now) { max($0, $1.clock.milliseconds) }
    for device in devices { device.clock.milliseconds = last }
    for pass in 0..<Self.passesMax {
      var hasMoved = false
      for (index, device) in devices.enumerated() {
        try progress(HistoryProgress(stage: .syncing, done: pass * devices.count + index, total: nil))
        let before = try device.store.syncState()
        let moved = try await sync(device)
        let after = try device.store.syncState()
        hasMoved = hasMoved || moved || before != after
      }
      if !hasMoved {
        report.remoteCalls = counter.calls
        return
      }
    }
    throw HistoryError(
      .neverQuiet, "after \(Self.passesMax) passes over all devices something still moves",
      hint: "keep the stores with --keep and look at them with replay")
  }
}
