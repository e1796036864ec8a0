public import OperationFormat

/// A record as it reads: its type, and the fields that have a value.
public struct Record: Hashable, Sendable, Identifiable {
  public let id: RecordID
  public let type: Name
  /// The fields by name. A field that was cleared is absent.
  public let fields: [Name: Value]

  public init(id: RecordID, type: Name, fields: [Name: Value]) {
    self.id = id
    self.type = type
    self.fields = fields
  }

  /// The value of a field, nil if it has none.
  public subscript(field: Name) -> Value? { fields[field] }
}

/// One head of a cell: what an operation left there that no other has replaced.
public struct CellHead: Hashable, Sendable {
  /// What a head says: of a register its value, of a record's existence whether it is alive.
  public enum Content: Hashable, Sendable {
    case value(Value)
    case alive(type: Name)
    case dead
  }

  /// The operation that made it.
  public let operation: OperationID
  /// Its timestamp, as it counts in comparisons.
  public let timestamp: Timestamp
  public let content: Content

  package init(operation: OperationID, timestamp: Timestamp, content: Content) {
    self.operation = operation
    self.timestamp = timestamp
    self.content = content
  }
}

/// A cell with more than one head: replicas changed it without having seen each other. A record's existence is in
/// conflict only where they disagree about it.
public struct Conflict: Hashable, Sendable {
  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// What the cell shows. For existence, the greatest head; whether the record is visible is its policy's.
  public let winner: CellHead
  /// What lost, greatest first. Kept until a later write has seen them.
  public let losers: [CellHead]

  package init(record: RecordID, field: Name?, winner: CellHead, losers: [CellHead]) {
    self.record = record
    self.field = field
    self.winner = winner
    self.losers = losers
  }
}
