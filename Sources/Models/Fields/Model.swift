public import OperationFormat

/// The type of a record: its name, and its fields as properties.
///
/// ```swift
/// struct Post: Model {
///   static let type: Name = "post"
///   let headline = Field<String>("headline", default: "untitled")
///   let date = Field<Date>("date")
///   let likes = CounterField("likes")
/// }
/// ```
///
/// A property says what a field is named, of which kind it is and how its values are stored. An instance has
/// no data: ``Row`` and ``Editor`` show a record's fields by the same properties.
public protocol Model: Sendable {
  /// The name of the type in the log. It is data: a struct may be renamed, this may not.
  static var type: Name { get }

  /// Indexes by several fields, or others that no field's `indexed` makes. None unless you say so.
  static var indexes: [ModelIndex<Self>] { get }

  /// Models whose records are records of this one too: see ``Submodel``. None unless you say so.
  static var submodels: [any Model.Type] { get }

  init()
}

extension Model {
  public static var submodels: [any Model.Type] { [] }
}

/// A field of a model: ``Field``, ``CounterField``, ``DecimalCounterField``, ``SetField``, ``MapField``,
/// ``ListField``, ``ProseField`` or ``ReducedField``.
public protocol ModelField: Sendable {
  /// What the field is, in the terms of the store.
  var definition: FieldDefinition { get }
}

/// What a field is.
public struct FieldDefinition: Hashable, Sendable {
  /// The name that new writes use.
  public let name: Name
  /// Names that earlier versions of the app used.
  public let formerNames: [Name]
  /// What its changes do.
  public let kind: FieldKind
  /// Whether an index is by the field alone.
  public internal(set) var isIndexed = false

  /// Whether members of a list's elements merge one by one.
  public internal(set) var mergesMembers = false

  init(_ name: Name, formerly formerNames: [Name] = [], _ kind: FieldKind) {
    (self.name, self.formerNames, self.kind) = (name, formerNames, kind)
  }

  /// The names that are read: first the one that new writes use.
  var names: [Name] { [name] + formerNames }
}
