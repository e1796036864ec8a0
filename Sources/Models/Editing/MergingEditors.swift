public import OperationFormat

/// A counter of a record in a write.
public struct CounterEditor {
  let cell: EditedCell
  let field: CounterField

  /// The sum as the write sees it.
  public var value: Int { cell.read(or: 0) { try field.number(of: cell.record, in: $0) } }

  /// Adds an amount; a negative one takes away.
  public func add(_ amount: Int) {
    cell.change { try $0.add(.int(Int64(amount)), to: cell.name, of: cell.record) }
  }
}

/// A decimal counter of a record in a write.
public struct DecimalCounterEditor {
  let cell: EditedCell
  let field: DecimalCounterField

  /// The sum as the write sees it.
  public var value: DecimalNumber { cell.read(or: .empty) { try field.number(of: cell.record, in: $0) } }

  /// Adds an amount; a negative one takes away.
  public func add(_ amount: DecimalNumber) {
    cell.change { try $0.add(.decimal(amount), to: cell.name, of: cell.record) }
  }
}

/// A set of a record in a write.
///
/// Elements that are equal for Swift are one, also texts whose bytes differ: “é” as one letter, or as “e” and a mark. To
/// find the others of a text with such letters, `contains`, where it is not there as it is, and `remove` read the whole
/// set. Queries compare bytes.
public struct SetEditor<Element: Hashable & Sendable> {
  let cell: EditedCell
  let field: SetField<Element>

  /// The elements as the write sees them.
  public var elements: Set<Element> { cell.read(or: []) { try field.elements(of: cell.record, in: $0) } }

  public func contains(_ element: Element) -> Bool {
    if !field.definition.formerNames.isEmpty { return elements.contains(element) }
    return cell.read(or: false) { tx in
      let value = try stored(element)
      if try tx.contains(value, in: cell.name, of: cell.record) { return true }
      return try value.mayHaveEquivalents && !field.forms(of: value, in: cell.record, tx).isEmpty
    }
  }

  public func insert(_ element: Element) {
    cell.change { tx in
      try tx.takeOverRegisters(of: field, in: cell.record)
      try tx.insert(stored(element), into: cell.name, of: cell.record)
    }
  }

  public func remove(_ element: Element) {
    cell.change { tx in
      try tx.takeOverRegisters(of: field, in: cell.record)
      let value = try stored(element)
      let forms = value.mayHaveEquivalents ? try field.forms(of: value, in: cell.record, tx) : []
      for form in forms where form != value { try tx.remove(form, from: cell.name, of: cell.record) }
      try tx.remove(value, from: cell.name, of: cell.record)
    }
  }

  /// Inserts what is new and removes what is gone. What a newer version of the app put there stays.
  public func set(_ elements: Set<Element>) {
    cell.change { tx in
      if try field.elements(of: cell.record, in: tx) == elements { return }
      try tx.takeOverRegisters(of: field, in: cell.record)
      var missing = elements
      let known = try tx.elements(of: cell.name, in: cell.record) ?? []
      for value in known.sorted(by: { $0.precedes($1) }) {
        guard let element = field.codec.decode(value, cell.record.zone) else { continue }
        missing.remove(element)
        if !elements.contains(element) { try tx.remove(value, from: cell.name, of: cell.record) }
      }
      for value in try missing.map(stored).sorted(by: { $0.precedes($1) }) {
        try tx.insert(value, into: cell.name, of: cell.record)
      }
    }
  }

  private func stored(_ element: Element) throws -> Value {
    try field.codec.encode(element, cell.record.zone)
  }
}

/// A map of a record in a write.
///
/// Keys that are equal for Swift are one, as elements of a set: see ``SetEditor``. The later write shows. To read the
/// value at a key that has such letters, or to remove it, reads the whole map.
public struct MapEditor<T: Sendable> {
  let cell: EditedCell
  let field: MapField<T>

  /// The entries as the write sees them.
  public var entries: [String: T] { cell.read(or: [:]) { try field.entries(of: cell.record, in: $0) } }

  /// The value at a key, which has at most 255 bytes; nil if there is none. Setting it to nil removes the
  /// key.
  public subscript(key: String) -> T? {
    get {
      cell.read(or: nil) { tx in
        if key.mayHaveEquivalents { return try field.entries(of: cell.record, in: tx)[key] }
        let value = try tx.value(at: Name(key), of: cell.name, in: cell.record)
        return value.flatMap { field.codec.decode($0, cell.record.zone) }
      }
    }
    nonmutating set {
      cell.change { tx in
        guard let newValue else {
          // Keys that are equal for Swift are one.
          let others =
            try key.mayHaveEquivalents
            ? (tx.entries(of: cell.name, in: cell.record) ?? [:]).keys.sorted() : []
          for other in others where other != Name(key) && other.rawValue == key {
            try tx.removeValue(at: other, from: cell.name, of: cell.record)
          }
          return try tx.removeValue(at: Name(key), from: cell.name, of: cell.record)
        }
        let value = try field.codec.encode(newValue, cell.record.zone)
        try tx.checkStaysValue(value)
        try tx.put(value, at: Name(key), in: cell.name, of: cell.record)
      }
    }
  }
}

/// A text of a record in a write.
public struct ProseEditor {
  let cell: EditedCell

  /// The text as the write sees it.
  public var text: String { cell.read(or: "") { try $0.text(of: cell.name, in: cell.record) ?? "" } }

  /// Makes the text another one by the least edit, so that what others do elsewhere in it stays. No part of
  /// the edit begins or ends inside a character of either text.
  ///
  /// - Complexity: O(n) in both texts, and O(n · d) where they differ in d characters.
  public func set(_ text: String) {
    for edit in TextEdit.edits(from: self.text, to: text) {
      if !edit.removed.isEmpty { remove(edit.removed) }
      if !edit.inserted.isEmpty { insert(edit.inserted, at: edit.removed.lowerBound) }
    }
  }

  public func append(_ text: String) {
    insert(text, at: cell.read(or: 0) { try $0.count(of: cell.name, in: cell.record, as: .text) })
  }

  /// Inserts text before an index.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - index: in Unicode scalars, from 0 to their count.
  public func insert(_ text: String, at index: Int) {
    cell.change { try $0.insertText(text, at: index, in: cell.name, of: cell.record) }
  }

  /// Removes text.
  ///
  /// - Parameter range: in Unicode scalars.
  public func remove(_ range: Range<Int>) {
    cell.change { try $0.removeText(range, from: cell.name, of: cell.record) }
  }
}

/// Contributions to a record in a write.
public struct ReducedEditor<Payload: Sendable, Result: Sendable> {
  let cell: EditedCell
  let field: ReducedField<Payload, Result>

  /// The result as the write sees it.
  public var value: Result { cell.read(or: field.initial) { try field.result(of: cell.record, in: $0) } }

  public func contribute(_ payload: Payload) {
    cell.change { tx in
      let value = try field.codec.encode(payload, .nowhere)
      try tx.contribute(value, to: cell.name, of: cell.record)
    }
  }
}
