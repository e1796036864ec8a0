/// A record in a write. Its fields are the properties of its model: read and set the value of a ``Field``,
/// and call the verbs of the others.
///
/// ```swift
/// try await store.write { tx in
///   tx[post].headline = "Hello"
///   tx[post].likes.add(1)
///   tx[post].tags.insert(swift)
/// }
/// ```
///
/// Nothing here throws. The first error, as that the record does not exist, fails the whole write, which
/// throws it; after it, changes do nothing and values are the fields' defaults.
///
/// It is for the closure of its write alone: a use after that is a fault of the program, and stops it.
@dynamicMemberLookup
public struct Editor<M: Model> {
  /// Which record it is.
  public let id: Ref<M>
  let write: WriteHandle
  let schema: ModelSchema<M>

  /// The field's value as the write sees it. Setting one that is nil clears the field.
  public subscript<T>(dynamicMember path: KeyPath<M, Field<T>>) -> T {
    get { value(schema.model[keyPath: path]) }
    nonmutating set { set(schema.model[keyPath: path], to: newValue) }
  }

  public subscript(dynamicMember path: KeyPath<M, CounterField>) -> CounterEditor {
    let field = schema.model[keyPath: path]
    return CounterEditor(cell: cell(field), field: field)
  }

  public subscript(dynamicMember path: KeyPath<M, DecimalCounterField>) -> DecimalCounterEditor {
    let field = schema.model[keyPath: path]
    return DecimalCounterEditor(cell: cell(field), field: field)
  }

  public subscript<E>(dynamicMember path: KeyPath<M, SetField<E>>) -> SetEditor<E> {
    let field = schema.model[keyPath: path]
    return SetEditor(cell: cell(field), field: field)
  }

  public subscript<T>(dynamicMember path: KeyPath<M, MapField<T>>) -> MapEditor<T> {
    let field = schema.model[keyPath: path]
    return MapEditor(cell: cell(field), field: field)
  }

  public subscript<T>(dynamicMember path: KeyPath<M, ListField<T>>) -> ListEditor<T> {
    let field = schema.model[keyPath: path]
    return ListEditor(cell: cell(field), field: field)
  }

  public subscript(dynamicMember path: KeyPath<M, ProseField>) -> ProseEditor {
    ProseEditor(cell: cell(schema.model[keyPath: path]))
  }

  public subscript<Payload, Result>(
    dynamicMember path: KeyPath<M, ReducedField<Payload, Result>>
  ) -> ReducedEditor<Payload, Result> {
    let field = schema.model[keyPath: path]
    return ReducedEditor(cell: cell(field), field: field)
  }

  private func cell(_ field: some MergingField) -> EditedCell {
    EditedCell(write: write, record: id.record, name: field.name)
  }

  private func value<T>(_ field: Field<T>) -> T {
    let (definition, record) = (field.definition, id.record)
    return write.read { tx in
      let value =
        try definition.formerNames.isEmpty
        ? tx.value(of: definition.name, in: record)
        : tx.record(record)?.inNewNames([definition], in: tx)[definition.name]
      return field.shown(value, in: record.zone)
    } ?? field.core.fallback
  }

  private func set<T>(_ field: Field<T>, to value: T) {
    write.change { tx in
      let value = try field.core.codec.encode(value, id.record.zone)
      try tx.setWithoutAsset(field.definition.name, of: id.record, to: value)
    }
  }
}

/// A field of many contents of a record in a write.
struct EditedCell {
  let write: WriteHandle
  let record: RecordID
  let name: Name

  func change(_ body: (inout WriteTransaction) throws -> Void) { write.change(body) }

  func read<R>(or fallback: @autoclosure () -> R, _ body: (borrowing WriteTransaction) throws -> R) -> R {
    write.read(body) ?? fallback()
  }
}
