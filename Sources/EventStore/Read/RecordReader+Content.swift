package import OperationFormat

/// Reading of all that a record shows, as changes that give it to an empty record.
extension RecordReader {
  /// The changes that make an empty record show what a record shows, cell by cell; nil if the record is not
  /// visible. References in values stay as they were written, those that are nullified too.
  func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try view.withRow(of: record) { row, state in
      guard try view.visible(row, state) != nil else { return nil }
      return try changes(in: row, state)
    }
  }

  /// As ``changes(showing:)``, for a row.
  func changes(in row: StoredRow, _ state: StateNumber) throws -> [(field: Name, changes: [FieldChange])] {
    try row.withUnpacked { try changes(inUnpacked: $0, state) }
  }

  private func changes(
    inUnpacked row: RawSpan, _ state: StateNumber
  ) throws -> [(field: Name, changes: [FieldChange])] {
    let index = try CellIndex(row)
    let zone = try view.zone(of: state)
    return try index.entries.filter { $0.cell != .existence }.map { entry in
      let field = try view.name(entry.cell.field)
      return try index.withRow(of: entry, in: row) {
        let cell = CellReader(entry.cell, in: StoredRow($0), state, view)
        guard let changes = try entry.cell.kind?.with({ try $0.changes(showing: cell) }) else {
          throw StoreError(
            .newerFormat, "the field “\(field)” is of a kind that this version does not know",
            hint: "move the record with the version that wrote it")
        }
        return (field, changes.map { $0.seen(inLogOf: zone) })
      }
    }
  }

  /// What a record shows in all its cells, for a copy in another zone; nil if the record is not visible.
  ///
  /// Losers of conflicts are left out. A reference that names no zone gets that of the record.
  ///
  /// - Throws: ``StoreError`` `valueInvalid` if a value becomes too large by that, or names a zone that the
  ///   other zone's log cannot name; `damaged`.
  func content(of record: RecordID, for zone: ZoneID) throws -> RecordContent? {
    try view.withRow(of: record) { row, state -> RecordContent? in
      guard let (type, _) = try view.visible(row, state) else { return nil }
      var content = RecordContent(type: try view.name(type))
      for (field, shown) in try changes(in: row, state) {
        for change in shown {
          let change = change.mapValues { $0.namingZone(record.zone) }
          if case .inserted(let text?) = change.fieldKind.with({ $0.edit(by: change) }) {
            content.texts.append((field, text))
            continue
          }
          for value in change.values { value.appendAssets(to: &content.assets) }
          var operand = ByteWriter()
          do throws(FormatError) {
            try change.stated(inLogOf: zone).encode(into: &operand)
          } catch {
            throw StoreError.unstorable(field, record, error)
          }
          content.changes.append(.init(field: field, kind: change.kind, operand: operand.bytes))
        }
      }
      return content
    }
  }
}

extension RecordReading where Self: ~Copyable {
  /// The changes that make an empty record show what a record shows, cell by cell; nil if the record does not
  /// exist.
  package func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try reader.changes(showing: record)
  }

  /// Calls a closure with each record of a zone and what it shows, in the order of their names, until it
  /// returns false. Records that cannot be read are skipped.
  ///
  /// - Parameter unread: gets the name of each record that cannot be read, and why.
  /// - Throws: ``StoreError`` `zoneUnknown`; what the closures throw.
  package func forEachReadableRecord(
    in zone: ZoneID, unread: (_ name: String, _ error: StoreError) throws -> Void,
    _ body: (Record, [(field: Name, changes: [FieldChange])]) throws -> Bool
  ) throws {
    let view = try reader.view
    try view.forEachStoredRow(in: view.state(of: zone), after: nil) { name, _ in
      let found: (Record, [(field: Name, changes: [FieldChange])])?
      do {
        let id = RecordID(zone: zone, name: try Name(utf8: name))
        found = try record(id).map { ($0, try changes(showing: id) ?? []) }
      } catch {
        guard let error = StoreError.unread(error) else { throw error }
        try unread(String(decoding: name.bytes, as: UTF8.self), error)
        return true
      }
      return try found.map { try body($0, $1) } ?? true
    }
  }

  /// The zones of the store whose rows can be read, in order, and the error of each other zone.
  package func readableZones() throws -> (zones: [ZoneID], unread: [(zone: String, error: StoreError)]) {
    var zones: [ZoneID] = []
    var unread: [(zone: String, error: StoreError)] = []
    let view = try reader.view
    try view.zones.forEachRow { number, read in
      var id: ZoneID?
      do {
        id = try view.zones.id(of: number)
        if try read().status.isVisible, let id { zones.append(id) }
      } catch {
        guard let error = StoreError.unread(error) else { throw error }
        unread.append((id.map { "\($0)" } ?? "number \(number.rawValue)", error))
      }
    }
    return (zones.sorted(), unread)
  }
}

extension StoreError {
  /// The error of one row that cannot be read; nil for an error of the whole store.
  fileprivate static func unread(_ error: any Error) -> StoreError? {
    guard let error = translate(error) as? StoreError, [.damaged, .newerFormat].contains(error.code) else {
      return nil
    }
    return error
  }
}
