public import OperationFormat

/// What the log says of a record: what ``Row/system`` has, and what the transactions say of themselves.
public struct RecordDetails: Hashable, Sendable {
  /// A change of a record.
  public struct Change: Hashable, Sendable {
    /// When, in milliseconds since 1970, by the clock of the device that made it.
    public let milliseconds: Int64
    /// Who made it, as the app said then.
    public let author: String?
    /// The store that made it.
    public let replica: ReplicaID
    /// The version of the schema that it was made under.
    public let schema: UInt64?
  }

  /// The first change that created the record; nil if an earlier version of this library folded it, until a
  /// rebuild.
  public let created: Change?
  /// The change that came last; of concurrent ones, the one that wins.
  public let modified: Change
  public let system: SystemFields
}

extension ReadTransaction {
  /// When and by whom a record was created and changed last; nil if it does not exist, or is of another type.
  ///
  /// - Throws: `StoreError` `damaged`.
  /// - Complexity: O(log n) in the log. ``Row/system`` has the times and the stores without that.
  public func details<M: Model>(of ref: Ref<M>) throws -> RecordDetails? {
    guard let system = try system(of: ref) else { return nil }
    return RecordDetails(
      created: try system.created.map { try change($0, in: ref.zone) },
      modified: try change(system.modified, in: ref.zone), system: system)
  }

  /// How far the last change of a record has come; nil if it does not exist, or is of another type.
  ///
  /// - Throws: `StoreError` `damaged`.
  /// - Complexity: linear in the writers of the zone.
  public func receipt<M: Model>(of ref: Ref<M>) throws -> Receipt? {
    guard let system = try system(of: ref) else { return nil }
    return try receipt(of: system.modified.transaction, in: ref.zone)
  }

  private func system<M: Model>(of ref: Ref<M>) throws -> SystemFields? {
    try contains(ref) ? withRecord(ref.record) { try $0.system } : nil
  }

  private func change(
    _ change: SystemFields.Change, in zone: ZoneID
  ) throws -> RecordDetails.Change {
    let entry = try position(of: change.transaction, in: zone).map { try self.entry(at: $0).transaction }
    return RecordDetails.Change(
      milliseconds: change.milliseconds, author: entry?.author, replica: change.replica,
      schema: entry?.schemaVersion)
  }
}
