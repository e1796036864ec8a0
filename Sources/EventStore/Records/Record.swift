public import OperationFormat

/// A record as it reads: its type, and the fields that have a value.
public struct Record: Sendable, Identifiable {
  public let id: RecordID
  public let type: Name
  /// The fields that have a value, in no order. They are few: to look through them costs less than to hash their names.
  package let entries: [Entry]

  package struct Entry: Sendable {
    package let name: Name
    package let value: Value
  }

  public init(id: RecordID, type: Name, fields: [Name: Value]) {
    self.init(id: id, type: type, entries: fields.map { Entry(name: $0.key, value: $0.value) })
  }

  package init(id: RecordID, type: Name, entries: [Entry]) {
    self.id = id
    self.type = type
    self.entries = entries
  }

  /// The fields by name, made anew at each call. A field that was cleared is absent.
  ///
  /// - Complexity: linear in the fields.
  public var fields: [Name: Value] {
    Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.value) })
  }

  /// The value of a field, nil if it has none.
  ///
  /// - Complexity: linear in the fields.
  public subscript(field: Name) -> Value? { entries.first { $0.name == field }?.value }
}

extension Record: Hashable {
  /// Says whether two records have the same name, type and fields.
  public static func == (a: Record, b: Record) -> Bool {
    a.id == b.id && a.type == b.type && a.entries.count == b.entries.count
      && a.entries.allSatisfy { b[$0.name] == $0.value }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(type)
    // The order of the fields does not count.
    hasher.combine(
      entries.reduce(0) { sum, entry in
        var hasher = Hasher()
        hasher.combine(entry.name)
        hasher.combine(entry.value)
        return sum ^ hasher.finalize()
      })
  }
}

/// One head of a cell: what an operation left there that no other has replaced.
public struct CellHead: Hashable, Sendable {
  /// What a head says: of a register its value, of a record's existence whether it is alive.
  public enum Content: Hashable, Sendable {
    case value(Value)
    /// Of a counter what a transaction has added; of contributions the payload of one.
    case contribution(Value)
    /// Of a set one of its elements.
    case element(Value)
    /// Of a map the value at a key.
    case entry(key: Name, Value)
    /// Of a list the value of an element, which is named by the unit it was inserted as.
    case item(UnitReference, Value)
    /// Of a text a piece that one operation has inserted.
    case text(String)
    case alive(type: Name)
    case dead
    /// The record is dead here: it was moved, and this is its copy.
    indirect case moved(to: RecordID)

    /// The value of a register or at a key, the element, or what was added to a counter or contributed; nil for a record's existence.
    public var value: Value? {
      switch self {
      case .value(let value), .contribution(let value), .element(let value), .entry(_, let value),
        .item(_, let value):
        value
      case .text(let text): .string(text)
      case .alive, .dead, .moved: nil
      }
    }

    /// The element of a set, the key of a map or the unit of a list's element, as a text; nil of other cells.
    public var element: Value? {
      switch self {
      case .element(let value): value
      case .entry(let key, _): .string(key.rawValue)
      case .item(let unit, _): .string("\(unit)")
      case .value, .contribution, .text, .alive, .dead, .moved: nil
      }
    }
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
/// conflict only where they disagree about it: that it is there, that it is deleted, that it moved and where to. So a record
/// that was moved and, elsewhere, changed or moved to another zone is listed with its copies.
public struct Conflict: Hashable, Sendable {
  public let record: RecordID
  /// The field, nil for the record's existence.
  public let field: Name?
  /// The key, in a map.
  public let key: Name?
  /// What the cell shows. For existence, the greatest head; whether the record is visible is its policy's.
  public let winner: CellHead
  /// What lost, greatest first. Kept until a later write has seen them.
  public let losers: [CellHead]

  package init(record: RecordID, field: Name?, key: Name? = nil, winner: CellHead, losers: [CellHead]) {
    self.record = record
    self.field = field
    self.key = key
    self.winner = winner
    self.losers = losers
  }
}
