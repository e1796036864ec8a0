import EventStore
import OperationFormat

/// The comparison of a store with the model.
extension ZoneModel {
  /// Compares records of a store with what must be there: all heads of their existence and of every field,
  /// whether they are visible, and their values.
  ///
  /// - Parameters:
  ///   - read: the store.
  ///   - view: what the store has of the zone.
  ///   - others: the other zones that the store has.
  ///   - records: which records; also ones that nobody wrote about.
  /// - Throws: ``OracleMismatch`` for the first difference.
  /// - Complexity: that of finding the heads of each cell, and a few reads each.
  func compare(
    _ read: borrowing ReadTransaction, _ view: ZoneView, besides others: StoreModel = StoreModel(),
    records: some Sequence<Name>
  ) throws(OracleMismatch) {
    let store = store(view, others)
    for record in records { try compare(read, heads(of: record, view), store) }
  }

  private func store(_ view: ZoneView, _ others: StoreModel) -> StoreModel {
    var store = others
    store.add(self, view)
    return store
  }

  /// Compares the whole zone of a store with what must be there: as ``compare(_:_:records:)`` does for every
  /// record that either of them has, then the list of its records, their holders, the records that moved away, its
  /// conflicts and its digest.
  ///
  /// - Parameters:
  ///   - read: the store.
  ///   - view: what the store has of the zone.
  ///   - others: the other zones that the store has.
  /// - Throws: ``OracleMismatch`` for the first difference.
  func compareAll(
    _ read: borrowing ReadTransaction, _ view: ZoneView, besides others: StoreModel = StoreModel()
  ) throws(OracleMismatch) {
    let store = store(view, others)
    let expected = store.allHeads(in: zone)
    try compareNames(read, expected)
    for record in expected { try compare(read, record, store) }
    try compareRecords(read, expected.compactMap { store.record($0, in: zone) })
    let holders = store.holders(in: zone)
    for record in expected { try compareHolders(read, of: record.name, holders[record.name] ?? []) }
    try compareForwardings(read, store)
    try compareConflicts(read, expected)
    let digest: ContentHash
    do { digest = try read.digest(of: zone) } catch { throw failure("digest", error) }
    try check(digest, ModelDigest.digest(of: expected), "digest of zone \(zone)")
  }

  // MARK: One record

  private func compare(
    _ read: borrowing ReadTransaction, _ expected: RecordHeads, _ store: StoreModel
  ) throws(OracleMismatch) {
    let id = RecordID(zone: zone, name: expected.name)
    let found:
      (
        existence: [CellHead], fields: [RecordHeads.Field], contains: Bool, record: Record?,
        place: RecordPlace
      )
    do {
      let fields = try read.fieldsWithEmptied(of: id).flatMap { field in
        try FieldKind.allCases.map { kind in
          RecordHeads.Field(
            name: field, kind: kind, heads: try read.heads(of: field, in: id, as: kind),
            parts: kind.model.shape == .units ? try read.parts(of: field, in: id, as: kind) : [])
        }.filter { !$0.heads.isEmpty || !$0.parts.isEmpty }
      }
      found = (
        try read.existence(of: id), fields, try read.contains(id), try read.record(id), try read.place(of: id)
      )
    } catch { throw failure("a reading", error, of: id) }
    try check(found.existence, expected.existence, "existence", of: id)
    try check(found.fields.map(\.name), expected.fields.map(\.name), "fields with heads", of: id)
    for (found, expected) in zip(found.fields, expected.fields) {
      try check(found.heads, expected.heads, "heads", of: id, field: expected.name)
      try check(found.parts, expected.parts, "parts", of: id, field: expected.name)
    }
    let record = store.record(expected, in: zone)
    try check(found.contains, record != nil, "visibility", of: id)
    try check(found.place, store.place(of: id), "place", of: id)
    if record != nil { try compareSystem(read, expected, of: id) }
    try check(found.record, record, "values", of: id)
  }

  private func compareSystem(
    _ read: borrowing ReadTransaction, _ expected: RecordHeads, of id: RecordID
  ) throws(OracleMismatch) {
    let found: SystemFields?
    do {
      found = try read.withRecord(id) { try $0.system }
    } catch { throw failure("system fields", error, of: id) }
    let (created, modified) = (expected.creation, expected.existence.first)
    try check(found?.created, created.map { SystemFields.Change($0) }, "creation", of: id)
    try check(found?.modified, modified.map { SystemFields.Change($0) }, "last change", of: id)
  }

  // MARK: The whole zone

  private func compareNames(
    _ read: borrowing ReadTransaction, _ expected: [RecordHeads]
  ) throws(OracleMismatch) {
    let found: [Name]
    do { found = try read.allRecordNames(in: zone) } catch { throw failure("names of records", error) }
    let names = expected.map(\.name)
    if found == names { return }
    if let missing = names.first(where: { !found.contains($0) }) {
      let id = RecordID(zone: zone, name: missing)
      throw OracleMismatch("presence", of: id, expected: "heads", found: "no such record")
    }
    if let extra = found.first(where: { !names.contains($0) }) {
      let id = RecordID(zone: zone, name: extra)
      throw OracleMismatch("presence", of: id, expected: "no such record", found: "a record with heads")
    }
    try check(found, names, "order of the records' names in zone \(zone)")
  }

  private func compareRecords(
    _ read: borrowing ReadTransaction, _ expected: [Record]
  ) throws(OracleMismatch) {
    let found: [Record]
    do { found = try read.records(in: zone) } catch { throw failure("records", error) }
    try check(found, expected, "records of zone \(zone)")
  }

  private func compareHolders(
    _ read: borrowing ReadTransaction, of name: Name, _ expected: [Holder]
  ) throws(OracleMismatch) {
    let id = RecordID(zone: zone, name: name)
    let found: [Holder]
    do { found = try read.holders(of: id) } catch { throw failure("holders", error, of: id) }
    try check(found, expected, "holders", of: id)
  }

  private func compareForwardings(
    _ read: borrowing ReadTransaction, _ store: StoreModel
  ) throws(OracleMismatch) {
    let found: [Forwarding]
    do { found = try read.forwardings(in: zone) } catch { throw failure("records that moved away", error) }
    try check(found, store.forwardings(in: zone), "records that moved away from zone \(zone)")
  }

  private func compareConflicts(
    _ read: borrowing ReadTransaction, _ expected: [RecordHeads]
  ) throws(OracleMismatch) {
    let found: [Conflict]
    do { found = try read.conflicts(in: zone) } catch { throw failure("conflicts", error) }
    let wanted = expected.flatMap { record in
      record.conflicts.map {
        Conflict(
          record: RecordID(zone: zone, name: record.name), field: $0.field, key: $0.key,
          winner: $0.heads[0], losers: Array($0.heads.dropFirst()))
      }
    }
    for (found, wanted) in zip(found, wanted) where found != wanted {
      let (expected, found) = (ModelText.text(wanted), ModelText.text(found))
      throw OracleMismatch(
        "conflict", of: wanted.record, field: wanted.field, expected: expected, found: found)
    }
    try check(found.count, wanted.count, "number of conflicts in zone \(zone)")
  }

  // MARK: Helpers

  /// Throws unless both are equal. Texts are made only then.
  private func check<Fact: Equatable>(
    _ found: Fact, _ expected: Fact, _ subject: @autoclosure () -> String, of record: RecordID? = nil,
    field: Name? = nil
  ) throws(OracleMismatch) {
    if found == expected { return }
    throw OracleMismatch(
      subject(), of: record, field: field, expected: ModelText.text(expected), found: ModelText.text(found))
  }

  private func failure(_ subject: String, _ error: any Error, of record: RecordID? = nil) -> OracleMismatch {
    OracleMismatch(subject, of: record, expected: "no error", found: "\(error)")
  }
}
