import LMDB
import OperationFormat

/// The rows of states: one state is the result of one fold of a zone.
struct StateTable<Source: TableReading>: TableView {
  let source: Source

  /// A state's row as it was last written.
  ///
  /// - Throws: ``StoreError`` `damaged` if there is none.
  func storedRow(of state: StateNumber) throws -> StateRow {
    if let found = try storedRowIfThere(of: state) { return found }
    throw StoreError(
      .damaged, "state number \(state.rawValue) has no row", hint: "run a verification of the store")
  }

  /// The same; nil if there is none.
  func storedRowIfThere(of state: StateNumber) throws -> StateRow? {
    try transaction.withValue(of: TableKey.state(state).span, in: tables.states) { try StateRow($0) }
  }
}

extension StateTable {
  /// The numbers of all states, ascending.
  func all() throws -> [StateNumber] {
    var found: [StateNumber] = []
    var last = StateNumber.none
    while last.rawValue < .max, let next = try first(atOrAfter: StateNumber(rawValue: last.rawValue + 1)) {
      found.append(next)
      last = next
    }
    return found
  }

  /// The first state whose number is equal or greater; nil if there is none.
  func first(atOrAfter state: StateNumber) throws -> StateNumber? {
    var cursor = try transaction.openCursor(tables.states)
    guard try cursor.seek(atOrAfter: TableKey.state(state).span) else { return nil }
    return try cursor.withEntry { key, _ in StateNumber(rawValue: try key.bigEndian32(at: 0)) }
  }
}

extension StateTable where Source == TableStorage {
  /// Lets the rows of a state be removed, if it is there.
  func discard(_ state: StateNumber) throws {
    guard try storedRowIfThere(of: state) != nil else { return }
    var row = try source.stateRow(state)
    row.status = .discarded
    source.setStateRow(row, state)
  }

  /// Lets go of all states into which snapshots are loaded.
  func discardLoading() throws { for state in try loading() { try discard(state) } }

  /// The states into which snapshots are loaded, of a zone or of all.
  func loading(for zone: ZoneNumber? = nil) throws -> [StateNumber] {
    try source.flush()
    return try all().filter {
      let row = try storedRow(of: $0)
      return row.zone == zone ?? row.zone && row.status == .loading
    }
  }

  /// Makes a state of a zone, and returns its number. No other state of the store gets it, also once this one
  /// is removed: what was read of a state before cannot be taken for another's.
  func make(for zone: ZoneNumber, _ status: StateRow.Status) throws -> StateNumber {
    try source.flush()
    var last = try source.meta.lastState().rawValue
    do {
      var cursor = try transaction.openCursor(tables.states)
      if try cursor.last() { last = max(last, try cursor.withEntry { key, _ in try key.bigEndian32(at: 0) }) }
    }
    guard last < .max else {
      throw StoreError(
        .damaged, "the table of states has a row of a number that no state gets",
        hint: StoreError.damageHint)
    }
    let state = StateNumber(rawValue: last + 1)
    try source.meta.setLastState(state)
    source.setStateRow(StateRow(zone: zone, status: status), state)
    try source.flush()
    return state
  }
}
