package import OperationFormat

extension ReadView {
  /// What a record shows, as the changes that make each cell of an empty record show it; nil if it is not there. Values are
  /// those that are stored.
  func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try withRow(of: record) { row, state in
      guard try visible(row, state) != nil else { return nil }
      return try changes(in: row, state)
    }
  }

  /// What the fields of a row show, cell by cell.
  func changes(
    in row: RawSpan, _ state: StateNumber
  ) throws -> [(field: Name, changes: [FieldChange])] {
    let index = try CellIndex(row)
    return try index.entries.filter { $0.cell != .existence }.map { entry in
      let field = try name(entry.cell.field)
      return try index.withRow(of: entry, in: row) {
        let cell = CellReader(entry.cell, in: $0, state, self)
        guard let changes = try entry.cell.kind?.with({ try $0.changes(showing: cell) }) else {
          throw StoreError(
            .newerFormat, "the field “\(field)” is of a kind that this version does not know",
            hint: "move the record with the version that wrote it")
        }
        return (field, changes)
      }
    }
  }
}

extension ReadTransaction {
  /// What a record shows, cell by cell: see `ReadView`.
  package func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try readView.changes(showing: record)
  }

  /// Calls a closure with each record of a zone that is there and what it shows, in the order of their names, until it returns
  /// false. What cannot be read is passed over.
  ///
  /// - Parameter unread: gets the name of each record that cannot be read, and why.
  /// - Throws: ``StoreError`` `zoneUnknown`; what the closures throw.
  package func forEachReadableRecord(
    in zone: ZoneID, unread: (_ name: String, _ error: StoreError) throws -> Void,
    _ body: (Record, [(field: Name, changes: [FieldChange])]) throws -> Bool
  ) throws {
    let state = try readView.state(of: zone)
    try readView.forEachStoredRow(in: state, after: nil) { name, _ in
      let found: (Record, [(field: Name, changes: [FieldChange])])?
      do {
        let id = RecordID(zone: zone, name: try Name(interned: name))
        found = try record(id).map { ($0, try changes(showing: id) ?? []) }
      } catch {
        guard let error = StoreError.unread(error) else { throw error }
        try unread(String(decoding: name.bytes, as: UTF8.self), error)
        return true
      }
      return try found.map { try body($0, $1) } ?? true
    }
  }

  /// The zones of the store whose rows can be read, in order, and what is wrong with each other one.
  package func readableZones() throws -> (zones: [ZoneID], unread: [(zone: String, error: StoreError)]) {
    var zones: [ZoneID] = []
    var unread: [(zone: String, error: StoreError)] = []
    try readView.zones.forEachRow { number, read in
      var id: ZoneID?
      do {
        id = try readView.zones.id(of: number)
        if try read().status.isVisible, let id { zones.append(id) }
      } catch {
        guard let error = StoreError.unread(error) else { throw error }
        unread.append((id.map { "\($0)" } ?? "number \(number.rawValue)", error))
      }
    }
    return (zones.sorted(), unread)
  }
}

extension WriteTransaction {
  /// What a record shows, cell by cell: see `ReadView`.
  package mutating func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try readView().changes(showing: record)
  }
}

extension StoreError {
  /// The error of a row that cannot be read, in the store's words; nil for one of the store as a whole.
  fileprivate static func unread(_ error: any Error) -> StoreError? {
    guard let error = translate(error) as? StoreError, [.damaged, .newerFormat].contains(error.code) else {
      return nil
    }
    return error
  }
}
