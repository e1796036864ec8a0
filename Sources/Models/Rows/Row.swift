public import OperationFormat

/// A record as it was at one read. Its fields are the properties of its model.
///
/// ```swift
/// for row in try store.fetch(Post.self, in: "blog") { print(row.headline, row.likes, row.items.count) }
/// ```
@dynamicMemberLookup
public struct Row<M: Model>: Sendable, Identifiable {
  let whole: WholeRecord
  let schema: ModelSchema<M>
  /// What ``ModelSchema/merging`` show, in their order.
  let contents: [any Sendable]

  init(
    _ whole: WholeRecord, _ schema: ModelSchema<M>, in transaction: borrowing some RecordReading & ~Copyable
  ) throws {
    self.schema = schema
    self.whole =
      try schema.renamed.isEmpty
      ? whole : WholeRecord(whole.record.inNewNames(schema.renamed, in: transaction), whole.system)
    contents =
      try schema.merging.isEmpty
      ? [] : schema.merging.map { try $0.content(of: whole.record.id, in: transaction) }
  }

  /// The row of a record, as one of its model's parent. The parent's fields come first.
  init<S: Submodel>(_ row: Row<S>) where S.Parent == M {
    (whole, schema, contents) = (row.whole, M.schema, row.contents)
  }

  /// Which record it is.
  public var id: Ref<M> { Ref(whole.record.id) }

  /// Who created the record and changed it last, when, and whether that is sent.
  public var system: SystemFields { whole.system }

  /// What is stored for a register.
  func stored(_ register: Name) -> Value? { whole.record[register] }

  public subscript<T>(dynamicMember path: KeyPath<M, Field<T>>) -> T {
    let field = schema.model[keyPath: path]
    return field.shown(stored(field.definition.name), in: whole.record.id.zone)
  }

  public subscript(dynamicMember path: KeyPath<M, CounterField>) -> Int {
    content(schema.model[keyPath: path]) ?? 0
  }

  public subscript(dynamicMember path: KeyPath<M, DecimalCounterField>) -> DecimalNumber {
    content(schema.model[keyPath: path]) ?? .empty
  }

  public subscript<Element>(dynamicMember path: KeyPath<M, SetField<Element>>) -> Set<Element> {
    content(schema.model[keyPath: path]) ?? []
  }

  public subscript<T>(dynamicMember path: KeyPath<M, MapField<T>>) -> [String: T] {
    content(schema.model[keyPath: path]) ?? [:]
  }

  public subscript<T>(dynamicMember path: KeyPath<M, ListField<T>>) -> [ListElement<T>] {
    content(schema.model[keyPath: path]) ?? []
  }

  public subscript(dynamicMember path: KeyPath<M, ProseField>) -> String {
    content(schema.model[keyPath: path]) ?? ""
  }

  public subscript<Payload, Result>(
    dynamicMember path: KeyPath<M, ReducedField<Payload, Result>>
  ) -> Result {
    let field = schema.model[keyPath: path]
    return content(field) ?? field.initial
  }

  /// What a field shows; nil if the model has it not as a property of its own.
  private func content<Content>(_ field: some MergingField) -> Content? {
    schema.index(of: field).flatMap { contents[$0] as? Content }
  }
}

extension Record {
  /// The record with what former names of fields show under the new ones: of two that are set, the later
  /// write.
  func inNewNames(
    _ renamed: [FieldDefinition], in transaction: borrowing some RecordReading & ~Copyable
  ) throws -> Record {
    var fields = fields
    for definition in renamed {
      let found = definition.names.filter { fields[$0] != nil }
      guard !found.isEmpty else { continue }
      let latest = try transaction.reader.latest(of: found, in: id)
      fields[definition.name] = fields[latest]
    }
    return Record(id: id, type: type, fields: fields)
  }
}
