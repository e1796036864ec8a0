public import OperationFormat

/// A cell with more than one head: replicas changed it and had not seen each other.
///
/// A record's existence is in conflict only if the heads disagree: one says that the record exists, another
/// that it was deleted, or moved to some place. So a record that was moved, and elsewhere changed or moved to
/// another zone, is listed with its copies.
///
/// Models also list records that should be one, because they have the same values in a unique index: these have an
/// ``index``, and the heads are those of the existences of ``records``.
public struct Conflict: Hashable, Sendable {
  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// The key, in a map.
  public let key: Name?
  /// What the cell shows. For existence, the greatest head; the type's policy decides whether the record is
  /// visible.
  public let winner: CellHead
  /// The other heads, greatest first. They are kept until a later write has seen them.
  public let losers: [CellHead]

  /// The unique index in which records have the same values; nil for a conflict of a cell.
  public let index: Name?
  /// The records that should be one, the one that was created first before the others; else the record alone.
  public let records: [RecordID]

  package init(
    record: RecordID, field: Name?, key: Name? = nil, winner: CellHead, losers: [CellHead],
    index: Name? = nil, records: [RecordID] = []
  ) {
    self.index = index
    self.records = records.isEmpty ? [record] : records
    self.record = record
    self.field = field
    self.key = key
    self.winner = winner
    self.losers = losers
  }
}
