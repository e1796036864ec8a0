import OperationFormat

/// A field whose content is not one value: what a row shows of it is read by itself.
protocol MergingField: ModelField {
  /// What makes it up. Identifies the field.
  var core: FieldCore { get }

  /// Its content in a record, as a row keeps it.
  func content(of record: RecordID, in transaction: borrowing some RecordReading & ~Copyable) throws
    -> any Sendable

  /// What a struct that is decoded from a row gets for a content.
  func value(of content: any Sendable, in zone: ZoneID) throws -> Value

  /// The form in which this version of the app stores an element; nil for one that it does not show.
  func stored(_ element: Value, in zone: ZoneID) throws -> Value?
}

extension MergingField {
  public var definition: FieldDefinition { core.definition }
  var name: Name { core.definition.name }
}

/// What makes up a field. It has only constants, and so have the classes under it.
class FieldCore: @unchecked Sendable {
  let definition: FieldDefinition

  init(_ name: Name, _ kind: FieldKind) {
    definition = FieldDefinition(name: name, formerNames: [], kind: kind)
  }
}
