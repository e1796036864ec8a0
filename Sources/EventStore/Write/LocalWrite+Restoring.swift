package import OperationFormat

extension LocalWrite {
  /// Makes what a head of a record's existence says so again.
  func restoreExistence(_ content: CellHead.Content, of record: RecordID) throws {
    let draft = try draft(for: record.zone)
    try record.name.withBytes { name in
      switch content {
      case .alive(let type): try revive(name, type: type, in: draft)
      // What others wrote may name a place that this record cannot have moved to, as this log says it.
      case .moved(let destination) where destination.name == record.name && destination.zone != record.zone:
        var bytes = ByteWriter()
        try encode(destination, inLogOf: record.zone, into: &bytes)
        try applyDelete(name, movedTo: bytes.span, in: draft)
      default: try applyDelete(name, in: draft)
      }
    }
  }

  /// Makes a record with a row alive, with all its fields.
  func revive(_ record: RecordID, type: Name) throws {
    let draft = try draft(for: record.zone)
    try record.name.withBytes { try revive($0, type: type, in: draft) }
  }

  /// Whether a record is alive in the write, even if a cascade hides it.
  func isAlive(_ record: RecordID) throws -> Bool {
    let draft = try draft(for: record.zone)
    return try record.name.withBytes { try aliveType(of: $0, in: draft) != nil }
  }

  /// The type of a record that is alive in the write, even if a cascade hides it.
  func aliveType(of record: RecordID) throws -> Name? {
    let draft = try draft(for: record.zone)
    return try record.name.withBytes { try aliveType(of: $0, in: draft) }.map { try store.name($0) }
  }

  /// Makes a record with a row alive, without a change of its fields.
  ///
  /// Every change of a field says that the record is alive. This one takes out of a set an element that it
  /// does not have, and so replaces no head of a field anywhere: what the transaction has seen of that
  /// element is gone already, and what it has not seen stays.
  func revive(_ record: RawSpan, type: Name, in draft: ZoneDraft) throws {
    let type = try internName(type)
    // It compacts the record first, if it is to be: what follows reads what is left.
    _ = try aliveType(of: record, in: draft)
    let field = try fieldWithoutSet(of: record, in: draft)
    var operand = ByteWriter()
    try Revival.change.encode(into: &operand)
    focus(draft)
    let operation = try draft.beginOperation()
    _ = try store.fold.load(record, in: draft.state)
    try markingFailure {
      try store.fold.change(.remove, field, type: type, operand: operand.span, index: operation)
    }
    try encode(.remove, field, of: record, type, operand: operand.span, in: draft)
  }

  /// A field name under which the record has no set.
  private func fieldWithoutSet(of record: RawSpan, in draft: ZoneDraft) throws -> NameNumber {
    // What compaction has dropped comes back by nothing but its creation.
    guard try store.fold.load(record, in: draft.state),
      !StoredRow(store.fold.loaded.bytes.span.bytes).isUncreated
    else { throw StoreError.compacted(RecordID(zone: draft.id!, name: try Name(utf8: record))) }
    var count = 0
    while true {
      let field = try internName(Revival.field(count))
      // Not only the row: a wide record has its fields elsewhere.
      if try store.fold.loaded.place(of: CellNumber(field, .set)).body.isEmpty { return field }
      count += 1
    }
  }
}

/// The operation that makes a record alive, and changes no field.
private enum Revival {
  static let change = FieldChange.remove("deleted")

  /// The names of its field: the first under which the record has no set.
  static func field(_ count: Int) -> Name { count == 0 ? "existence" : Name("existence \(count)") }
}

extension LogOperation {
  /// Whether it only makes its record alive: it takes from a set what the set does not have.
  package var isRevival: Bool {
    guard case .update(_, _, let field, Revival.change) = self else { return false }
    if field == Revival.field(0) { return true }
    let count = field.rawValue.split(separator: " ", maxSplits: 1).last.flatMap { Int($0) }
    return count.map { $0 > 0 && field == Revival.field($0) } ?? false
  }
}
