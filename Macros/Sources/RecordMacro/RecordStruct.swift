@_exported public import Models

/// A struct with the values of a record: it is created from one, and read into one. ``Record(_:)`` makes a
/// struct one.
///
/// ```swift
/// let post = try tx.create(Post(headline: "Hello"), in: "blog")
/// let posts = try store.fetch(Post.all).map { try $0.decode(Post.self) }
/// ```
public protocol RecordStruct: Codable, Sendable {
  /// The model of its records: a field for each property.
  associatedtype Fields: Model
}

extension RecordStruct {
  /// All records of the model.
  public static var all: Query<Fields> { Fields.all }

  /// The records of the model that fulfil a condition.
  public static func `where`(_ condition: (Columns<Fields>) -> QueryCondition) -> Query<Fields> {
    Fields.where(condition)
  }
}

extension WriteTransaction {
  /// Creates a record with the values of a struct. What a field's default shows already is not stored.
  ///
  /// - Parameters:
  ///   - values: the struct.
  ///   - zone: the record's zone.
  ///   - name: its name; nil for a new one, see `WriteTransaction.makeName()`.
  /// - Returns: the record's identity.
  /// - Throws: `StoreError` as `create(_:in:named:_:)` of models, and `valueInvalid` for what a field cannot
  ///   have: a `Decimal` that merges and is not 0.
  @discardableResult
  public mutating func create<R: RecordStruct>(
    _ values: R, in zone: ZoneID, named name: Name? = nil
  ) throws -> Ref<R.Fields> {
    let ref = try create(R.Fields.self, in: zone, named: name)
    try update(ref, with: values)
    return ref
  }
}
