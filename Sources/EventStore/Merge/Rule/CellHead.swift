public import OperationFormat

/// One head of a cell: what an operation left there that no other has replaced.
public struct CellHead: Hashable, Sendable {
  /// What a head says: of a register its value, of a record's existence whether it is alive.
  public enum Content: Hashable, Sendable {
    /// Of a register its value.
    case value(Value)
    /// Of a counter what a transaction has added.
    case addend(Value)
    /// Of contributions the payload of one.
    case contribution(Value)
    /// Of a set one of its elements.
    case element(Value)
    /// Of a map the value at a key.
    case entry(key: Name, Value)
    /// Of a list the value of an element, which is named by the unit it was inserted as.
    case item(UnitReference, Value)
    /// Of a text a piece that one operation has inserted.
    case text(String)
    /// The record exists, with a type.
    case alive(type: Name)
    /// The record was deleted.
    case dead
    /// The record is dead here: it was moved, and this is its copy.
    indirect case moved(to: RecordID)

    /// The value of a register or at a key, the element, or what was added to a counter or contributed; nil
    /// for a record's existence.
    public var value: Value? {
      switch self {
      case .value(let value), .addend(let value), .contribution(let value), .element(let value),
        .entry(_, let value), .item(_, let value):
        value
      case .text(let text): .string(text)
      case .alive, .dead, .moved: nil
      }
    }

    /// Whether it may name another record.
    var mayNameRecords: Bool {
      if case .moved = self { return true }
      return value?.mayNameRecords ?? false
    }

    /// The element of a set, the key of a map or the unit of a list's element, as a text; nil of other cells.
    public var element: Value? {
      switch self {
      case .element(let value): value
      case .entry(let key, _): .string(key.rawValue)
      case .item(let unit, _): .string("\(unit)")
      case .value, .addend, .contribution, .text, .alive, .dead, .moved: nil
      }
    }
  }

  /// The operation that made it.
  public let operation: OperationID
  /// Its timestamp, as it counts in comparisons.
  public let timestamp: Timestamp
  /// What it says.
  public let content: Content

  package init(operation: OperationID, timestamp: Timestamp, content: Content) {
    self.operation = operation
    self.timestamp = timestamp
    self.content = content
  }
}

extension CellHead.Content: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> CellHead.Content {
    switch self {
    case .value(let value): .value(try value.mapZones(transform))
    case .addend(let value): .addend(try value.mapZones(transform))
    case .contribution(let value): .contribution(try value.mapZones(transform))
    case .element(let value): .element(try value.mapZones(transform))
    case .entry(let key, let value): .entry(key: key, try value.mapZones(transform))
    case .item(let unit, let value): .item(unit, try value.mapZones(transform))
    case .moved(let place): .moved(to: try place.mapZones(transform))
    case .text, .alive, .dead: self
    }
  }
}
