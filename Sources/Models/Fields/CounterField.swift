public import OperationFormat

/// A whole number that several add to: all additions count.
public struct CounterField: MergingField {
  public private(set) var definition: FieldDefinition

  /// - Parameters:
  ///   - name: the field's name in the log, 1 to 128 bytes of UTF-8.
  ///   - registers: the names of fields with one value, which earlier versions of the app had for the number.
  ///     What they have counts too, also if such a version still sets it. The name itself may be one of them.
  public init(_ name: Name, startingAt registers: Name...) {
    definition = FieldDefinition(name, formerly: registers, .counter)
  }

  /// The field, with an index of its sums. See ``ModelIndex``.
  public var indexed: Self {
    var field = self
    field.definition.isIndexed = true
    return field
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try number(of: record, in: transaction)
  }

  func number(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> Int {
    Self.number(try transaction.sum(of: self, in: record))
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    .int(Int64(content as? Int ?? 0))
  }

  /// A sum as a whole number: towards 0 if another app added fractions, and the nearest if it is too large.
  static func number(_ sum: Value?) -> Int {
    switch sum {
    case .int(let sum): Int(clamping: sum)
    case .decimal(let sum): Int(clamping: sum.wholePart)
    default: 0
    }
  }
}

/// A decimal number that several add to: all additions count, exactly.
public struct DecimalCounterField: MergingField {
  public let definition: FieldDefinition

  /// - Parameters:
  ///   - name: the field's name in the log, 1 to 128 bytes of UTF-8.
  ///   - registers: as in ``CounterField/init(_:startingAt:)``.
  public init(_ name: Name, startingAt registers: Name...) {
    definition = FieldDefinition(name, formerly: registers, .counter)
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try number(of: record, in: transaction)
  }

  func number(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> DecimalNumber {
    Self.number(try transaction.sum(of: self, in: record))
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    .decimal(content as? DecimalNumber ?? .empty)
  }

  private static func number(_ sum: Value?) -> DecimalNumber {
    switch sum {
    case .int(let sum): DecimalNumber(coefficient: Int128(sum), exponent: 0)!
    case .decimal(let sum): sum
    default: .empty
    }
  }
}

extension CounterField: IndexableField {
  var indexPart: IndexPart { IndexPart(.value(queryField(fallback: .int(0)))) }
}

extension RecordReading where Self: ~Copyable {
  fileprivate func sum(of counter: some MergingField, in record: RecordID) throws -> Value? {
    try reader.sum(of: counter.name, withRegisters: counter.definition.formerNames, of: record)
  }
}
