public import OperationFormat

/// Values at keys: each key for itself has the last writer's value.
///
/// A value that does not decode, as one of a newer version of the app, is not shown, and stays.
public struct MapField<T: Sendable>: CodedField {
  public private(set) var definition: FieldDefinition
  let codec: ValueCodec<T>

  private init(_ name: Name, _ codec: ValueCodec<T>) {
    (definition, self.codec) = (FieldDefinition(name, .map), codec)
  }

  public init(_ name: Name) where T: FieldValue { self.init(name, .ofFieldValue) }

  /// A map of values of a `Codable` type.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - complete: as in ``ListField/init(_:filledBy:)``.
  @_disfavoredOverload
  public init(_ name: Name, filledBy complete: T? = nil) where T: Codable {
    self.init(name, .ofCodable(filledBy: complete))
  }

  /// A map of references.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - rule: what each means while its record is deleted: see the page *Referring to records* of
  ///     `EventStore`.
  public init<M: Model>(_ name: Name, _ rule: ReferenceRule) where T == Ref<M> {
    self.init(name, .reference(rule))
  }

  /// The field, with an index of its keys: it finds the records that have one. See ``ModelIndex``.
  public var indexed: Self {
    var field = self
    field.definition.isIndexed = true
    return field
  }

  func content(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> any Sendable {
    try entries(of: record, in: transaction)
  }

  func value(of content: any Sendable, in zone: ZoneID) throws -> Value {
    var entries: [Name: Value] = [:]
    for (key, value) in content as? [String: T] ?? [:] { entries[Name(key)] = try codec.encode(value, zone) }
    return .map(entries)
  }

  func entries(
    of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> [String: T] {
    let (zone, name) = (record.zone, name)
    var last: [Name: CellHead]?
    return try Dictionary(transaction.entries(of: name, in: record) ?? [:]) { one, other in
      // The later write shows.
      if last == nil {
        last = [:]
        for head in try transaction.heads(of: name, in: record, as: .map) {
          if case .entry(let key, _) = head.content, last?[key] == nil { last?[key] = head }
        }
      }
      guard let one = last?[one], let other = last?[other] else { return one < other }
      return (one.timestamp, one.operation) > (other.timestamp, other.operation)
    } decoding: {
      codec.decode($0, zone)
    }
  }
}

extension MapField: IndexableField {
  var indexPart: IndexPart { IndexPart(.elements(QueryField(.field(name, definition.kind)))) }
}
