public import OperationFormat

/// A list of a record in a write.
///
/// Indexes count what the list has now, elements that do not decode included. What you have an element of,
/// change by its identity: it may be elsewhere by now.
public struct ListEditor<T: Sendable> {
  let cell: EditedCell
  let field: ListField<T>

  /// The elements as the write sees them.
  public var elements: [ListElement<T>] { cell.read(or: []) { try field.elements(of: cell.record, in: $0) } }

  public var count: Int { cell.read(or: 0) { try $0.count(of: cell.name, in: cell.record, as: .list) } }

  public func append(_ value: T) { insert(value, at: count) }

  public func append(contentsOf values: [T]) { insert(contentsOf: values, at: count) }

  public func insert(_ value: T, at index: Int) { insert(contentsOf: [value], at: index) }

  public func insert(contentsOf values: [T], at index: Int) {
    cell.change { tx in
      let values = try values.map { value in field.inserted(try stored(value, tx), tx.makeName()) }
      try tx.insertElements(values, at: index, in: cell.name, of: cell.record)
    }
  }

  public func remove(at index: Int) { remove(index..<index + 1) }

  public func remove(_ range: Range<Int>) {
    cell.change { tx in
      if field.definition.mergesMembers {
        let list = try tx.list(cell.name, of: cell.record) ?? []
        for place in range.clamped(to: list.indices) {
          try tx.removeMembers(of: list[place], in: field, of: cell.record)
        }
      }
      try tx.removeElements(range, from: cell.name, of: cell.record)
    }
  }

  /// Removes an element. Nothing happens if it is gone.
  public func remove(id: UnitReference) {
    changing(id) { tx in
      if let element = try element(id, tx) { try tx.removeMembers(of: element, in: field, of: cell.record) }
      try tx.removeElement(id, from: cell.name, of: cell.record)
    }
  }

  public func move(from source: Int, to target: Int) {
    cell.change { try $0.moveElement(from: source, to: target, in: cell.name, of: cell.record) }
  }

  /// Moves an element to an index. Nothing happens if it is gone.
  public func move(id: UnitReference, to target: Int) {
    changing(id) { try $0.moveElement(id, to: target, in: cell.name, of: cell.record) }
  }

  /// The value of an element; nil if it is gone, or does not decode. Setting it changes this element alone,
  /// and nothing if it is gone; setting it to nil removes the element.
  ///
  /// ```swift
  /// tx[post].items[id: milk]?.done = true
  /// ```
  public subscript(id id: UnitReference) -> T? {
    get {
      cell.read(or: nil) { tx in
        guard var value = try element(id, tx) else { return nil }
        if field.definition.mergesMembers { value = try tx.merged(value, of: field, in: cell.record) }
        return field.codec.decode(value, cell.record.zone)
      }
    }
    nonmutating set {
      guard let newValue else { return remove(id: id) }
      changing(id) { tx in
        if field.definition.mergesMembers, let element = try element(id, tx),
          try tx.setMembers(of: element, to: stored(newValue, tx), in: field, of: cell.record)
        {
          return
        }
        try tx.replaceElement(
          id, in: cell.name, of: cell.record, with: field.inserted(stored(newValue, tx), tx.makeName()))
      }
    }
  }

  private func changing(_ id: UnitReference, _ body: (inout WriteTransaction) throws -> Void) {
    cell.change { tx in
      do {
        try body(&tx)
      } catch let error as StoreError where error.code == .elementUnknown {
        // Another device removed it.
      }
    }
  }

  private func stored(_ value: T, _ tx: borrowing WriteTransaction) throws -> Value {
    let value = try field.codec.encode(value, cell.record.zone)
    try tx.checkStaysValue(value)
    return value
  }

  private func element(_ id: UnitReference, _ tx: borrowing WriteTransaction) throws -> Value? {
    try tx.reader.value(ofItem: id, of: cell.name, in: cell.record)
  }
}
