import OperationFormat

/// An index of a model's records: by a field, or by several, one after the other.
///
/// ```swift
/// struct Post: Model {
///   static let type: Name = "post"
///   let headline = Field<String>("headline")
///   let date = Field<Date>("date").indexed
///   let author = Field<Ref<Person>?>("author", .nullify)
///   let tags = SetField<String>("tags").indexed
///
///   static let indexes: [Index] = [Index { [$0.author, $0.date.descending] }]
/// }
/// ```
///
/// For one field alone, `indexed` does. An index of a set, a list or a map finds the records that contain an
/// element or a key. Each index makes writing a little slower, and the queries that it serves as fast over a
/// million records as over a thousand: see `explain(_:)`.
public struct ModelIndex<M: Model>: Sendable {
  /// Its parts. The model's fields are asked for later: it may be made just now.
  let parts: @Sendable () -> [IndexPart]
  let name: Name?
  let isUnique: Bool
}

/// A field that an index can have.
protocol IndexableField: ModelField {
  var indexPart: IndexPart { get }
}
