public import OperationFormat

/// What the store knows of a record besides its fields.
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

  /// Another one after each change of the record. Two devices that have seen the same changes have the same.
  public struct Tag: Hashable, Sendable {
    let operations: [OperationID]
  }

  public let zone: ZoneID
  /// The change that came last; of concurrent ones, the one that wins.
  public let modified: Change
  public let tag: Tag
  /// Whether a change is to be sent to the remote.
  public let isPending: Bool
}

extension ReadTransaction {
  /// When, by whom and where a record was changed last, and whether that is sent; nil if it does not exist,
  /// or is of another type.
  ///
  /// - Throws: `StoreError` `damaged`.
  /// - Complexity: O(log n) in the log, for each concurrent last change.
  public func details<M: Model>(of ref: Ref<M>) throws -> RecordDetails? {
    guard try contains(ref) else { return nil }
    let heads = try existence(of: ref.record)
    guard let last = heads.first else { return nil }
    let id = last.operation.transaction
    let entry = try position(of: id, in: ref.zone).map { try self.entry(at: $0).transaction }
    let isSynced = try attachment(of: ref.zone) != .local
    return RecordDetails(
      zone: ref.zone,
      modified: RecordDetails.Change(
        milliseconds: Int64(last.timestamp.milliseconds), author: entry?.author, replica: id.replica,
        schema: entry?.schemaVersion),
      tag: RecordDetails.Tag(operations: heads.map(\.operation).sorted()),
      isPending: try isSynced
        && heads.contains { try placement(of: $0.operation.transaction, in: ref.zone) == nil })
  }
}
