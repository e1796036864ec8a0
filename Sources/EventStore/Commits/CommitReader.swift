import LMDB
import OperationFormat

/// Reads what the commits of a store have changed since the last reading: those of this process from its
/// journal, those of others from the log.
package struct CommitReader {
  private let core: StoreCore
  private let journal: CommitJournal
  private let reading: CommitJournal.Reading
  private let listsTransactions: Bool
  private(set) var seen: Seen

  /// What the store was like at the last reading.
  struct Seen {
    var id: UInt64
    var position: Position
    /// How many commits did more than to append local transactions.
    var others: UInt64
    var zones: [ZoneID: Zone]
    /// The keys of indexes that commits since the reading before have changed; nil if they are not known.
    var indexKeys: Set<[UInt8]>? = []

    struct Zone: Equatable {
      let state: StateNumber
      let token: ZoneRow.Token?
    }

    init(_ read: borrowing ReadTransaction, _ position: Position) throws {
      id = read.transaction.id
      self.position = position
      others = try read.readView.meta.otherCommits()
      zones = try Self.zones(read)
    }

    static func zones(_ read: borrowing ReadTransaction) throws -> [ZoneID: Zone] {
      var zones: [ZoneID: Zone] = [:]
      for (number, row) in try read.readView.zones.rows() where row.status.isVisible {
        if let id = try read.readView.zones.id(of: number) {
          zones[id] = Zone(state: row.state, token: row.token)
        }
      }
      return zones
    }
  }

  /// - Parameters:
  ///   - listsTransactions: whether ``Commit/transactions`` are wanted.
  ///   - journal: the store's; with an empty one, all commits are read as those of other processes.
  init(_ core: StoreCore, listsTransactions: Bool, journal: CommitJournal? = nil) throws {
    self.core = core
    self.journal = journal ?? core.journal
    self.listsTransactions = listsTransactions
    reading = core.readCommits()
    seen = try core.read { read in try Seen(read, read.readView.log.lastPosition()) }
  }

  /// What was committed since the last call; nil if nothing was.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  package mutating func next() throws -> Commit? {
    var seen = seen
    let found: Commit? = try core.read { read in try commit(read, &seen) }
    self.seen = seen
    return found
  }

  private func commit(_ read: borrowing ReadTransaction, _ seen: inout Seen) throws -> Commit? {
    let id = read.transaction.id
    guard id > seen.id, !journal.isUnsettled(through: id) else { return nil }
    let notes = journal.notes(after: seen.id, through: id)
    let isOfOtherProcess = UInt64(notes.count) < id - seen.id
    let (before, position) = (seen.position, try read.readView.log.lastPosition())
    var zones: [ZoneID: Commit.Changes] = [:]
    var origins: Commit.Origins = []
    for note in notes {
      zones.add(note.zones)
      origins.formUnion(note.origins)
    }
    zones.add(try records(of: notes, read))
    let otherCommits = try read.readView.meta.otherCommits()
    let isInLog = otherCommits &- seen.others == UInt64(notes.count { !$0.isInLog })
    if isOfOtherProcess {
      let appended = try entries(read, after: before, through: position, besides: notes)
      zones.add(appended.zones)
      origins.formUnion(appended.origins)
    }
    if !isInLog || notes.contains(where: { !$0.isInLog }) {
      let now = try Seen.zones(read)
      // What is not in the log may have changed anything.
      if !isInLog { zones.add(Self.anything(seen.zones, now)) }
      seen.zones = now
    }
    (seen.id, seen.position, seen.others) = (id, position, otherCommits)
    seen.indexKeys = isOfOtherProcess ? nil : []
    for note in notes where seen.indexKeys != nil {
      if let keys = note.indexKeys { seen.indexKeys!.formUnion(keys) } else { seen.indexKeys = nil }
    }
    return Commit(
      before: before, position: position, zones: zones,
      transactions: listsTransactions ? try transactions(read, after: before) : [],
      assets: !isInLog && isOfOtherProcess ? nil : notes.reduce(into: []) { $0.formUnion($1.assets) },
      origins: origins,
      isOfOtherProcess: isOfOtherProcess)
  }

  /// The records that commits of this process have changed, by the zones that show them now. Of a zone that shows
  /// another state than before, the commits tell otherwise.
  private func records(
    of notes: [CommitJournal.Note], _ read: borrowing ReadTransaction
  ) throws -> [ZoneID: Commit.Changes] {
    var noted: [ChangeNotes.RecordKey: ChangeNotes.NotedFields] = [:]
    for note in notes { noted.merge(note.records) { $0.joined(with: $1) } }
    let view = read.readView
    func zone(showing state: StateNumber) throws -> ZoneID? {
      guard let zone = try view.states.storedRowIfThere(of: state)?.zone,
        try view.zones.storedRow(of: zone)?.state == state
      else { return nil }
      return try view.zones.id(of: zone)
    }
    var records: [ZoneID: [Name: Commit.Fields]] = [:]
    var last: (state: StateNumber, zone: ZoneID?)?
    for (key, fields) in noted {
      if last?.state != key.state { last = (key.state, try zone(showing: key.state)) }
      guard let zone = last?.zone else { continue }
      var changed = Commit.Fields.all
      if case .some(let numbers) = fields { changed = .some(Set(try numbers.map { try view.name($0) })) }
      records[zone, default: [:]][key.name] = changed
    }
    var zones = records.mapValues { Commit.Changes(records: $0.count <= ChangeNotes.recordsMax ? $0 : nil) }
    for state in Set(notes.flatMap(\.states)) {
      if let zone = try zone(showing: state) { zones[zone] = Commit.Changes(records: nil) }
    }
    return zones
  }

  /// Any changes of the zones that were there or are.
  private static func anything(
    _ old: [ZoneID: Seen.Zone], _ new: [ZoneID: Seen.Zone]
  ) -> [ZoneID: Commit.Changes] {
    var changes: [ZoneID: Commit.Changes] = [:]
    for zone in Set(old.keys).union(new.keys) {
      changes[zone] = Commit.Changes(records: nil, isSynced: old[zone]?.token != new[zone]?.token)
    }
    return changes
  }

  /// What entries of the log have changed, besides those of this process's commits.
  private func entries(
    _ read: borrowing ReadTransaction, after first: Position, through last: Position,
    besides notes: [CommitJournal.Note]
  ) throws -> (zones: [ZoneID: Commit.Changes], origins: Commit.Origins) {
    var origins: Commit.Origins = []
    var zones: [ZoneID: Commit.Changes] = [:]
    let reader = LogReader(read.readView)
    var notes = notes[...]
    var count = 0
    try reader.forEachPosition(after: first, in: nil) { position in
      guard position <= last else { return false }
      while let note = notes.first, note.position < position { notes.removeFirst() }
      if let note = notes.first, note.before < position { return true }
      count += 1
      guard count <= ChangeNotes.recordsMax else { return false }
      let transaction = try reader.entry(at: position).transaction
      origins.insert(transaction.replica == core.identity.replica ? .local : .remote)
      zones[transaction.zone, default: Commit.Changes(records: [:])].add(
        Commit.Changes(records: transaction.changedRecords))
      return true
    }
    guard count <= ChangeNotes.recordsMax else {
      return (try Seen.zones(read).mapValues { _ in Commit.Changes(records: nil) }, [.local, .remote])
    }
    return (zones, origins)
  }

  private func transactions(
    _ read: borrowing ReadTransaction, after first: Position
  ) throws -> [Commit.Transaction] {
    var found: [Commit.Transaction] = []
    let reader = LogReader(read.readView)
    try reader.forEachPosition(after: first, in: nil) { position in
      let made = try reader.entry(at: position).transaction
      found.append(
        Commit.Transaction(
          id: made.id, position: position, zone: made.zone, isLocal: made.replica == core.identity.replica,
          author: made.author, label: made.label))
      return found.count < Commit.transactionsMax
    }
    return found
  }
}

extension [ZoneID: Commit.Changes] {
  fileprivate mutating func add(_ changes: [ZoneID: Commit.Changes]) {
    merge(changes) { known, more in
      var sum = known
      sum.add(more)
      return sum
    }
  }
}
