public import OperationFormat

/// A whole number that several add to: all additions count.
public struct CounterField: MergingField {
  public private(set) var definition: FieldDefinition

  public init(_ name: Name) { definition = FieldDefinition(name, .counter) }

  /// The field, with an index of its sums. See ``ModelIndex``.
  public var indexed: Self {
    var field = self
    field.definition.isIndexed = true
    return field
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try Self.number(transaction.counter(name, of: record))
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    .int(Int64(content as? Int ?? 0))
  }

  /// A sum as a whole number: towards 0 if another app added fractions, and the nearest if it is too large.
  static func number(_ counter: Counter?) -> Int {
    switch counter?.value {
    case .int(let sum): Int(clamping: sum)
    case .decimal(let sum): Int(clamping: sum.wholePart)
    default: 0
    }
  }
}

/// A decimal number that several add to: all additions count, exactly.
public struct DecimalCounterField: MergingField {
  public let definition: FieldDefinition

  public init(_ name: Name) { definition = FieldDefinition(name, .counter) }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try Self.number(transaction.counter(name, of: record))
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    .decimal(content as? DecimalNumber ?? .empty)
  }

  static func number(_ counter: Counter?) -> DecimalNumber {
    switch counter?.value {
    case .int(let sum): DecimalNumber(coefficient: Int128(sum), exponent: 0)!
    case .decimal(let sum): sum
    default: .empty
    }
  }
}

extension CounterField: IndexableField {
  var indexPart: IndexPart { IndexPart(.value(QueryField(.field(name, definition.kind), fallback: .int(0)))) }
}
