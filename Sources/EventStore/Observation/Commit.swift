public import OperationFormat

/// What a commit has changed, or several that were not read one by one.
public struct Commit: Sendable, Hashable {
  /// The last position of the log before, and after. They are the same if it appended no transaction.
  public let before: Position
  public let position: Position
  /// The zones that it changed: also those that were made, attached or deleted.
  public let zones: [ZoneID: Changes]
  /// The transactions that it appended, in the order of the log: the first ``transactionsMax``.
  public let transactions: [Transaction]
  /// The assets whose bytes are here now. Nil if another process has synced or maintained the store: any may have
  /// come.
  public let assets: Set<ContentHash>?
  /// Who made the transactions that it appended.
  public let origins: Origins
  /// Whether another process has made it, or a part of it.
  public let isOfOtherProcess: Bool

  /// So many transactions are listed.
  public static let transactionsMax = 1000

  /// Who made changes.
  public struct Origins: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// This store, in any of its processes.
    public static let local = Origins(rawValue: 1)
    /// Other stores: a replicator brought them.
    public static let remote = Origins(rawValue: 2)
  }

  /// What it changed in a zone.
  public struct Changes: Sendable, Hashable {
    /// The records that may have changed, by name; nil if they are not known, and any may have: a zone was
    /// made, deleted or folded again, or there are very many.
    public internal(set) var records: [Name: Fields]?
    /// Whether the remote has got transactions of the zone, or sent some.
    public internal(set) var isSynced = false
  }

  /// Which fields of a record may have changed.
  public enum Fields: Sendable, Hashable {
    case some(Set<Name>)
    /// It was created, deleted or moved, or other records decide what it shows.
    case all
  }

  /// A transaction that was appended to the log.
  public struct Transaction: Sendable, Hashable, Identifiable {
    public let id: TransactionID
    public let position: Position
    public let zone: ZoneID
    /// Whether this store made it, in any of its processes.
    public let isLocal: Bool
    public let author: String?
    public let label: String?
  }

  /// How many transactions it appended.
  public var transactionCount: Int { Int(position.rawValue - before.rawValue) }

  /// Whether a record may have changed. Not whether it shows something else: the deletion of another record may hide
  /// it, or a reference of it. What `LocalStore.values` reads wakes also then.
  public func mayHaveChanged(_ record: RecordID) -> Bool {
    guard let zone = zones[record.zone] else { return false }
    return zone.records.map { $0[record.name] != nil } ?? true
  }
}

extension Commit.Changes {
  /// What two commits have changed, one after the other.
  mutating func add(_ other: Commit.Changes, recordsMax: Int = ChangeNotes.recordsMax) {
    isSynced = isSynced || other.isSynced
    guard let more = other.records, records != nil, records!.count + more.count <= recordsMax
    else {
      records = nil
      return
    }
    records!.merge(more) { $0.joined(with: $1) }
  }
}

extension Commit.Fields {
  package func joined(with other: Commit.Fields) -> Commit.Fields {
    guard case .some(let fields) = self, case .some(let more) = other else { return .all }
    return .some(fields.union(more))
  }
}
