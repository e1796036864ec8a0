import EventStore
import OperationFormat
import Replicator

/// What to do about the findings of `replay remote`: one line each, with the command.
struct RemoteAdvice {
  private(set) var lines: [String] = []
  private let remote: String

  /// - Parameters:
  ///   - remote: its address, as the user gave it.
  ///   - givenUp: the entry that this command gave up.
  ///   - repair: what this command's repair did, and the store that it used.
  init(
    _ audit: RemoteAudit, remote: String, givenUp: EntryPlace? = nil,
    repair: (store: String, done: RepairedRemote)? = nil
  ) {
    let remote = remote.argument
    self.remote = remote
    if audit.problems.contains(where: \.isNewer) {
      lines.append(
        "What only a newer version can read is not damaged: read it with that version, and change nothing here."
      )
    }
    if audit.problems.contains(where: {
      $0.asset == nil && $0.unnamedLog == nil && !$0.isDenied && !$0.isNewer && !$0.isAboutFloor
    }) {
      lines.append(
        "Restore these files from a backup or from another copy of the remote, or put back what a store has: "
          + "`replay remote \(remote) --repair STORE`." + givingUp(audit))
    }
    if audit.problems.contains(where: \.isAboutFloor) {
      lines.append(
        "Where a log begins is written again by `replay trim \(remote) --write`, as far as what is there says it. That also "
          + "removes what is old: `--older-than 36500d` keeps it.")
    }
    let snapshots = audit.problems.compactMap(\.brokenSnapshot)
    if snapshots.contains(.begin) {
      lines.append(
        "Each store that has read up to there can put back the snapshot with which a log begins: keep what is left of "
          + "it. If no store can, sync the stores that have the zone as they write. One makes a later snapshot, with which "
          + "new stores begin, once the log has grown by 4 MiB, and by as much as the last snapshot has."
      )
    }
    if snapshots.contains(.other) {
      lines.append(
        "A damaged snapshot with which no log begins holds up nothing: stores make the next one as the log grows. If no store "
          + "can put it back, its directory may be removed.")
    }
    if let log = audit.problems.lazy.compactMap(\.unnamedLog).first {
      lines.append(
        "No device finds a log that no event of the list of zones names. A store that syncs the log's zone can "
          + "append an event to the list: `replay remote \(remote) --repair STORE`. A log that no store knows "
          + "belongs to another remote: its directory, such as \(ObjectName.log(of: log)), may be moved away."
      )
    }
    let assets = Set(audit.problems.compactMap { $0.asset?.hash.description }).sorted()
    if let first = assets.first {
      let hasManifest = audit.problems.contains { $0.asset != nil && $0.place.hasSuffix("/manifest") }
      lines.append(
        "To repair an asset, upload it from a store that has it: `replay asset upload STORE "
          + "\(assets.count == 1 ? first : "HASH") --remote \(remote)`."
          + (hasManifest
            ? " If all its chunks are sound, `replay remote \(remote) --repair STORE` repairs its manifest, with "
              + "any store of the remote." : ""))
    }
    let missing = Set(audit.logs.flatMap(\.missingAssets)).map(\.description)
    if let first = missing.first {
      lines.append(
        "Upload a missing asset from a store that has it: `replay asset upload STORE "
          + "\(missing.count == 1 ? first : "HASH") --remote \(remote)`; `replay asset list STORE` lists a "
          + "store's assets."
      )
    }
    if let (store, done) = repair, let (zone, offset) = done.rereading {
      lines.append(
        "The list of zones is another one than the store has read: others have added events since some were lost. If the "
          + "remote is right, the store reads the list again: \(reread(store, zone, offset)). That removes nothing."
      )
    }
    for step in repair?.done.steps ?? [] {
      guard step.outcome == .replaced, let zone = step.place.log?.zone, let store = repair?.store else {
        continue
      }
      lines.append(
        "If the remote is right, the store must read its log again: \(reread(store, zone, step.place.offset)). "
          + "So must each other store that had read past offset \(step.place.offset) of \(zone) before the "
          + "replacement: until then, others may leave out what it sends.")
      break
    }
    for log in audit.logs where log.fate == nil && !log.consequences.isEmpty && log.givenUp.isEmpty {
      lines.append(
        "What is left out of \(log.zone) breaks a rule of the log, and every reader rejects it. The store that "
          + "wrote it sends its contents again when it syncs. If that store is in sync and has nothing to send, "
          + "it had read entries that were replaced since. Each such store must read the log again: "
          + "\(reread("STORE", log.zone))."
      )
    }
    for log in audit.logs where log.leftObjects > 0 {
      let (name, option) = log.fate == .reset ? ("reset", "--reset") : ("purge", "--purge")
      lines.append(
        "The \(name) of \(log.zone) was cut short: `replay remote \(remote) \(option) \(log.incarnation) --write` ends it."
      )
    }
    for (zone, offset) in places(audit, givenUp) {
      lines.append(
        "Each store that had read past offset \(offset) of \(zone) must read the log again from there: "
          + "\(reread("STORE", zone, offset)). Until then, others may leave out what it sends.")
    }
  }

  /// How to give up entries that no store has; empty if there are none.
  private func givingUp(_ audit: RemoteAudit) -> String {
    var entries: [String] = []
    let only = audit.onlyLogs
    for entry in audit.problems.lazy.filter({ !$0.isNewer }).compactMap({ RemotePage.argument($0, only) }) {
      if !entries.contains(entry) { entries.append(entry) }
      if entries.count > Self.entriesMax { break }
    }
    guard let first = entries.first else { return "" }
    let others = entries.dropFirst().prefix(Self.entriesMax - 1).map(\.argument).joined(separator: ", ")
    return
      " An entry that no store has can be given up. What was written there, if anything was, is lost then: "
      + "`replay remote \(remote) \(Display.option("--quarantine", first))`"
      + (others.isEmpty ? "" : "; likewise \(others)")
      + (entries.count > Self.entriesMax ? " and the others" : "")
      + "."
  }

  /// How many entries are named at most.
  private static let entriesMax = 10

  /// - Parameter offset: where reading starts; nil for the log's start.
  private func reread(_ store: String, _ zone: ZoneID, _ offset: UInt64? = nil) -> String {
    let entry = "\(zone)\(offset.map { "@\($0)" } ?? "")"
    return "`replay sync \(store.argument) --remote \(remote) \(Display.option("--reread", entry))`"
  }

  /// The first given-up entry of each log from which readers leave something out, and the entry that this
  /// command gave up.
  private func places(_ audit: RemoteAudit, _ givenUp: EntryPlace?) -> [(zone: ZoneID, offset: UInt64)] {
    audit.logs.compactMap { log in
      guard log.fate == nil else { return nil }
      let tombstones = log.givenUp.map(\.offset)
      let isNew = givenUp?.log?.incarnation == log.incarnation && tombstones.contains(givenUp?.offset ?? 0)
      guard isNew || !log.consequences.isEmpty, let first = tombstones.min() else { return nil }
      return (log.zone, log.consequences.isEmpty ? givenUp?.offset ?? first : first)
    }
  }
}
