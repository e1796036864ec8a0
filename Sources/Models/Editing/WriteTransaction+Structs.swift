extension WriteTransaction {
  /// Gives a record what a struct of yours says: changes the fields that differ, and no other.
  ///
  /// ```swift
  /// var summary = try row.decode(Summary.self)
  /// summary.headline = "Hello"
  /// try tx.update(row.id, with: summary)
  /// ```
  ///
  /// Properties stand for fields as in ``Row/decode(_:)``. A counter gets what is missing to the number, a
  /// set, a map and a list the elements that differ, a text the least edit. What a newer version of the app
  /// put there stays.
  ///
  /// - Throws: `StoreError` `valueInvalid` for a property that stands for no field, or says something that
  ///   its field cannot have; `recordUnknown`; what encoding throws.
  public mutating func update<M: Model>(_ ref: Ref<M>, with values: some Encodable) throws {
    guard let row = try fetch(ref, M.schema) else {
      throw StoreError(
        .recordUnknown, "there is no \(ref)",
        hint: "create it first, or check its zone and name: if it has moved, `current(_:)` says where it is")
    }
    let schema = M.schema
    guard case .map(var entries) = try ValueEncoder.encode(values, in: ref.zone) else {
      throw StoreError(
        .valueInvalid, "\(type(of: values)) has no properties", hint: "use a struct with properties")
    }
    // Encoders leave out what is nil.
    for child in Mirror(reflecting: values).children {
      if let label = child.label, entries[Name(label)] == nil, schema.field(label) != nil {
        entries[Name(label)] = .null
      }
    }
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
      guard let field = schema.field(key.rawValue) else {
        if key == "id" { continue }
        throw StoreError(
          .valueInvalid, "the model “\(M.type)” has no field for the property “\(key)”",
          hint: "name it as a property of the model, or leave it out of what is encoded")
      }
      try update(field, of: row, to: value)
    }
  }

  private mutating func update<M: Model>(_ field: any ModelField, of row: Row<M>, to value: Value) throws {
    let (name, record) = (field.definition.name, row.id.record)
    guard let field = field as? any MergingField else {
      guard let field = field as? any RegisterField, let stored = try field.stored(value, in: record.zone)
      else {
        throw refused(value, name, record)
      }
      // Setting what a default shows already would say nothing new.
      if try field.shownValue(row.stored(name), in: record.zone) != stored {
        try setWithoutAsset(name, of: record, to: stored)
      }
      return
    }
    func stored(_ value: Value) throws -> Value {
      guard let stored = try field.stored(value, in: record.zone) else { throw refused(value, name, record) }
      return stored
    }
    switch (field.definition.kind, value) {
    case (.counter, .int(let wanted)):
      let now = CounterField.number(try shown(by: field, in: record))
      let (difference, isOver) = wanted.subtractingReportingOverflow(Int64(now))
      if isOver { throw refused(value, name, record) }
      if difference != 0 { try add(.int(difference), to: name, of: record) }
    case (.counter, .decimal(let wanted)):
      guard case .decimal(wanted) = try shown(by: field, in: record) else {
        throw StoreError(
          .valueInvalid, "the decimal counter “\(name)” cannot be set", hint: "add the difference to it")
      }
    case (.set, .array(let wanted)): try update(set: field, of: record, to: Set(wanted.map(stored)))
    case (.map, .map(let wanted)): try update(map: field, of: record, to: wanted.mapValues(stored))
    case (.list, .array(let wanted)): try update(list: field, of: record, to: wanted.map(stored))
    case (.text, .string(let wanted)): ProseEditor(cell: EditedCell(self, record, name)).set(wanted)
    case (.set, .null), (.map, .null), (.list, .null), (.text, .null), (.counter, .null): break
    default: throw refused(value, name, record)
    }
  }

  private func shown(by field: any MergingField, in record: RecordID) throws -> Value {
    try field.value(of: field.content(of: record, in: self), in: record.zone)
  }

  private func refused(_ value: Value, _ name: Name, _ record: RecordID) -> StoreError {
    StoreError(
      .valueInvalid, "the field “\(name)” of \(record) cannot be made \(value)",
      hint: "use a property of the type that the field shows; contribute to a field with a rule of its own")
  }

  private mutating func update(set field: any MergingField, of record: RecordID, to wanted: Set<Value>) throws
  {
    try takeOverRegisters(of: field, in: record)
    var missing = wanted
    for element in try elements(of: field.name, in: record) ?? [] {
      guard let shown = try field.stored(element, in: record.zone) else { continue }
      if missing.remove(shown) == nil, !wanted.contains(shown) {
        try remove(element, from: field.name, of: record)
      }
    }
    for element in missing { try insert(element, into: field.name, of: record) }
  }

  private mutating func update(
    map field: any MergingField, of record: RecordID, to wanted: [Name: Value]
  ) throws {
    var missing = wanted
    for (key, value) in try entries(of: field.name, in: record) ?? [:] {
      guard let shown = try field.stored(value, in: record.zone) else { continue }
      if wanted[key] == nil { try removeValue(at: key, from: field.name, of: record) }
      if wanted[key] == shown { missing[key] = nil }
    }
    for (key, value) in missing { try put(value, at: key, in: field.name, of: record) }
  }

  private mutating func update(
    list field: any MergingField, of record: RecordID, to wanted: [Value]
  ) throws {
    let inserted = try list(field.name, of: record) ?? []
    let all =
      field.definition.mergesMembers ? try reader.withMembers(inserted, of: field.name, in: record) : inserted
    // Those that this version of the app shows, and where they are.
    var (places, shown): ([Int], [Value]) = ([], [])
    for (place, value) in all.enumerated() {
      guard let value = try field.stored(value, in: record.zone) else { continue }
      places.append(place)
      shown.append(value)
    }
    for var edit in SequenceEdit.edits(from: shown, to: wanted) {
      // An element in place of another is that one, with other members.
      while field.definition.mergesMembers, let place = edit.removed.last, let new = edit.inserted.last,
        try setMembers(of: inserted[places[place]], to: wanted[new], in: field, of: record)
      {
        edit.removed.removeLast()
        edit.inserted.removeLast()
      }
      for place in edit.removed { try removeMembers(of: inserted[places[place]], in: field, of: record) }
      for place in edit.removed.reversed() {
        try removeElements(places[place]..<places[place] + 1, from: field.name, of: record)
      }
      let place = edit.removed.lowerBound
      try insertElements(
        wanted[edit.inserted].map { field.inserted($0, makeName()) },
        at: place < places.count ? places[place] : all.count - edit.removed.count,
        in: field.name, of: record)
    }
  }
}

extension EditedCell {
  init(_ transaction: borrowing WriteTransaction, _ record: RecordID, _ name: Name) {
    self.init(write: WriteHandle(transaction), record: record, name: name)
  }
}
