public import OperationFormat

/// Contributions that a function of yours reduces to one value. All devices see them in the same order.
///
/// ```swift
/// let stars = ReducedField<Int, Int>("stars", initial: 0) { $0 += $1 }
/// ```
public struct ReducedField<Payload: Sendable, Result: Sendable>: MergingField {
  public let definition: FieldDefinition
  let codec: ValueCodec<Payload>
  let initial: Result
  private let reducer: ContributionReducer<Result>

  private init(
    _ name: Name, _ codec: ValueCodec<Payload>, _ initial: Result,
    _ reduce: @escaping @Sendable (inout Result, Payload) -> Void
  ) {
    definition = FieldDefinition(name, .contributions)
    (self.codec, self.initial) = (codec, initial)
    reducer = ContributionReducer(of: name, initial: initial) { result, contribution in
      if let payload = codec.decode(contribution.payload, .nowhere) { reduce(&result, payload) }
    }
  }

  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - initial: the result of no contributions.
  ///   - reduce: takes one contribution into the result. It must depend only on its arguments. One that does
  ///     not decode is passed over.
  public init(
    _ name: Name, initial: Result, reduce: @escaping @Sendable (inout Result, Payload) -> Void
  ) where Payload: FieldValue {
    self.init(name, .ofFieldValue, initial, reduce)
  }

  /// As ``init(_:initial:reduce:)``, for contributions of a `Codable` type.
  @_disfavoredOverload
  public init(
    _ name: Name, initial: Result, reduce: @escaping @Sendable (inout Result, Payload) -> Void
  ) where Payload: Codable {
    self.init(name, .ofCodable, initial, reduce)
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try result(of: record, in: transaction)
  }

  /// The result, if it is a value.
  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    switch content {
    case let value as any FieldValue: return try value.value(in: zone)
    case let value as any Encodable: return try ValueEncoder.encode(value, in: zone)
    default:
      throw StoreError(
        .valueInvalid, "the result of the field “\(name)” is not Codable",
        hint: "leave it out of the struct, and read it from the row")
    }
  }

  func result(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> Result {
    try reducer.result(of: record, in: transaction) ?? initial
  }
}

extension ZoneID {
  /// No record's zone. A reference that is stored as if from there names its zone, so that whoever reads it needs
  /// not know where it was.
  static let nowhere = ZoneID(name: "")
}
