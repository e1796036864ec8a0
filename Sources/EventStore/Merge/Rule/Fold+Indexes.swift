import OperationFormat

/// Telling the indexes what changes, and those who observe commits.
extension Fold {
  /// Lets the indexes look at the loaded record before all of it may change.
  ///
  /// - Parameter type: the type that it gets; nil if it gets none.
  @inline(__always)
  mutating func willChange(type: NameNumber? = nil) throws {
    if storage.notesChanges { loaded.withKey { storage.noteChange($0, field: nil) } }
    if let upkeep = try storage.indexUpkeep() { try tell(upkeep, type: type) }
  }

  /// The same before a record is loaded into a state that nobody reads yet.
  mutating func willLoad() throws {
    if let upkeep = try storage.indexUpkeep() { try tell(upkeep, type: nil) }
  }

  /// The same before a field changes.
  @inline(__always)
  mutating func willChange(
    _ kind: OperationKind, _ field: NameNumber, type: NameNumber, operand: RawSpan
  ) throws {
    let notesChanges = storage.notesChanges
    let upkeep = try storage.indexUpkeep()
    guard notesChanges || upkeep != nil else { return }
    let isOfWhole = try mayMatter(kind, type: type, operand: operand)
    if notesChanges { loaded.withKey { storage.noteChange($0, field: isOfWhole ? nil : field) } }
    guard let upkeep else { return }
    if isOfWhole {
      try tell(upkeep, type: type)
    } else if upkeep.has(field) {
      try tell(upkeep, field, type: type)
    }
  }

  private static var entriesUncounted: Int { 16 }

  private mutating func tell(
    _ upkeep: any RecordUpkeep, _ field: NameNumber? = nil, type: NameNumber?
  ) throws {
    var upkeep = upkeep
    if upkeep.isFull {
      try flush()
      try upkeep.flush()
      // Writing may have made it another one.
      guard let now = try storage.indexUpkeep() else { return }
      upkeep = now
    }
    // What replaces one of several heads may leave the record the type of any other.
    let type = try isContested() ? nil : type
    let count = try loaded.withKey { try upkeep.willChange($0, field: field, type: type) }
    // Few entries take less than the operation. Of many, each may go and another come.
    if count > Self.entriesUncounted { try bound.count(removed: 2 * count) }
  }

  /// Whether several heads say of the loaded record whether it is alive.
  private func isContested() throws -> Bool {
    let row = StoredRow(loaded.bytes.span.bytes)
    return try row.plainType == nil && !row.bytes.isEmpty && row.heads(of: .existence).total > 1
  }

  /// Whether a change of a field may change more than the field: whether the record is there.
  private func mayMatter(_ kind: OperationKind, type: NameNumber, operand: RawSpan) throws -> Bool {
    let row = StoredRow(loaded.bytes.span.bytes)
    guard row.flags.isDisjoint(with: .ofReferences), row.plainType?.type == type else { return true }
    switch FieldKind(of: kind) {
    case .register: return Value.mayNameRecords(operand)
    case .counter, .text: return false
    case .set, .map, .list, .contributions, nil: return true
    }
  }
}
