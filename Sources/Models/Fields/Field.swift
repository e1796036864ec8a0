public import OperationFormat

/// A field that has one value: the last writer's.
///
/// It always shows a value, since a record may come from another version of the app. One that was never set,
/// or holds what does not decode, shows its `default`, or the type's empty value: 0, false, "", nil. A type
/// that has none, as an enumeration, needs a default.
public struct Field<T: Sendable>: RegisterField {
  /// What makes it up, behind one reference: a row takes the field at each access.
  final class Core: Sendable {
    let definition: FieldDefinition
    let codec: ValueCodec<T>
    let fallback: T
    let upcast: ValueUpcast?

    init(
      _ definition: FieldDefinition, _ codec: ValueCodec<T>, _ fallback: T, upcast: ValueUpcast? = nil
    ) {
      (self.definition, self.codec, self.fallback, self.upcast) = (definition, codec, fallback, upcast)
    }

    func with(isIndexed: Bool? = nil, upcast: ValueUpcast? = nil) -> Core {
      var definition = definition
      if let isIndexed { definition.isIndexed = isIndexed }
      return Core(definition, codec, fallback, upcast: upcast ?? self.upcast)
    }
  }

  let core: Core

  private init(_ core: Core) { self.core = core }

  private init(_ name: Name, _ formerly: [Name], _ codec: ValueCodec<T>, _ fallback: T) {
    core = Core(FieldDefinition(name, formerly: formerly, .register), codec, fallback)
  }

  /// - Parameters:
  ///   - name: the field's name in the log, 1 to 128 bytes of UTF-8.
  ///   - formerly: names that earlier versions of the app used. They are read too, and the later write shows;
  ///     new writes use `name`.
  public init(_ name: Name, formerly: Name...) where T: EmptyFieldValue {
    self.init(name, formerly, .ofFieldValue, .empty)
  }

  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - formerly: names that earlier versions of the app used.
  ///   - fallback: what it shows if it was never set.
  public init(_ name: Name, formerly: Name..., default fallback: T) where T: FieldValue {
    self.init(name, formerly, .ofFieldValue, fallback)
  }

  /// A field of a `Codable` type. Members that a stored value does not have, as one of an earlier version of
  /// the type, are those of the default.
  @_disfavoredOverload
  public init(_ name: Name, formerly: Name..., default fallback: T) where T: Codable {
    self.init(name, formerly, .ofCodable(filledBy: fallback), fallback)
  }

  /// A field of a `Codable` type, or of none.
  @_disfavoredOverload
  public init(_ name: Name, formerly: Name...) where T: Codable & ExpressibleByNilLiteral {
    self.init(name, formerly, .ofCodable, nil)
  }

  /// A field that refers to a record.
  ///
  /// - Parameters:
  ///   - name: the field's name in the log.
  ///   - rule: what it means while that record is deleted: see the page *Referring to records* of
  ///     `EventStore`.
  ///   - formerly: names that earlier versions of the app used.
  public init<M: Model>(_ name: Name, _ rule: ReferenceRule, formerly: Name...) where T == Ref<M>? {
    let codec = ValueCodec<T>(
      encode: { $0?.value(in: $1, rule) ?? .null }, decode: { T($0, in: $1) })
    self.init(name, formerly, codec, nil)
  }

  public var definition: FieldDefinition { core.definition }

  /// The field, with an index of its values: see ``ModelIndex``.
  public var indexed: Field { Field(core.with(isIndexed: true)) }

  /// The field, with what values of an earlier version of the app become. Rows, queries and indexes see what
  /// they become; what is stored stays until it is written again.
  ///
  /// ```swift
  /// let priority = Field<Priority>("priority", default: .normal)
  ///   .upcasting(.values([true: "high", false: "normal"]))
  /// let year = Field<Int>("year").upcasting(.number)  // it was a text
  /// ```
  public func upcasting(_ upcast: ValueUpcast) -> Field { Field(core.with(upcast: upcast)) }

  /// What is stored for what a stored value shows.
  func shownValue(_ value: Value?, in zone: ZoneID) throws -> Value {
    if let value = upcast(value), core.codec.decode(value, zone) != nil { return value }
    return try core.codec.encode(core.fallback, zone)
  }

  var upcast: ValueUpcast? { core.upcast }

  @inline(__always)
  private func upcast(_ value: Value?) -> Value? {
    guard let value, let upcast = core.upcast else { return value }
    return upcast(value)
  }

  func stored(_ value: Value, in zone: ZoneID) throws -> Value? {
    if value == .null { return .null }
    return try upcast(value).flatMap { try core.codec.stored($0, in: zone) }
  }

  /// What a stored value shows.
  func shown(_ value: Value?, in zone: ZoneID) -> T {
    upcast(value).flatMap { core.codec.decode($0, zone) } ?? core.fallback
  }
}

extension Field: IndexableField {
  var indexPart: IndexPart { IndexPart(.value(queryField(path: []))) }

  /// The field as a query looks at it.
  ///
  /// - Parameter path: the fields with references that lead to its record.
  func queryField(path: [Name]) -> QueryField {
    QueryField(
      .field(definition.name, .register), formerNames: definition.formerNames, path: path,
      fallback: (try? core.codec.encode(core.fallback, .nowhere)) ?? .null, upcast: core.upcast)
  }
}

/// A field with one value, of any type.
protocol RegisterField: ModelField {
  /// What values of an earlier version of the app become.
  var upcast: ValueUpcast? { get }

  /// The field as a query looks at it.
  ///
  /// - Parameter path: the fields with references that lead to its record.
  func queryField(path: [Name]) -> QueryField

  func shownValue(_ value: Value?, in zone: ZoneID) throws -> Value

  /// The form in which a value is stored; nil if it does not decode.
  func stored(_ value: Value, in zone: ZoneID) throws -> Value?
}

extension ValueUpcast {
  /// - Throws: `StoreError` `definitionInvalid` for a table with which a value would not stay what it was
  ///   written as.
  func check(of field: Name, _ type: Name) throws {
    guard case .values(let table) = self else { return }
    for value in table.values where table[value].map({ $0 != value }) ?? false {
      throw StoreError(
        .definitionInvalid,
        "the upcast of the field “\(field)” of “\(type)” makes \(value), and makes it another value",
        hint: "let old values become only such that are none of the old ones")
    }
  }
}
