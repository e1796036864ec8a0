import Synchronization

/// Knows the handles of the tables that are open in an environment.
///
/// LMDB wants a handle opened once and kept, and only one transaction at a time that opens any. So all tables that
/// exist are opened when the environment is, and `claim` gives the right to open more to one transaction at a time.
final class TableCache: Sendable {
  private struct State {
    var handles: [String: UInt32] = [:]
    var owner: ObjectIdentifier?
  }

  private let state: Mutex<State>

  /// The bytes that describe a table in the table of tables (MDB_db).
  private static let recordBytes = 48

  /// Opens all tables that exist, up to the limit.
  init(calls: Calls, environment: Calls.Handle, tablesMax: Int) throws(LMDBError) {
    var handles: [String: UInt32] = [:]
    let reader = try calls.begin(environment, parent: nil, readOnly: true)
    do throws(LMDBError) {
      for name in try Self.names(calls, reader, limit: tablesMax) {
        do throws(LMDBError) {
          handles[name] = try calls.openTable(reader, name, create: false)
        } catch {
          // A row of the main table that is no table is none of ours.
          if error.code != .incompatible { throw error }
        }
      }
    } catch {
      calls.abort(reader)
      throw error
    }
    try calls.commit(reader)
    state = Mutex(State(handles: handles))
  }

  /// The handle of a table that is open.
  func handle(of name: String) -> UInt32? {
    state.withLock { $0.handles[name] }
  }

  /// Gives a transaction the right to open tables until `release`; false if another has it.
  func claim(_ owner: TransactionState) -> Bool {
    let owner = ObjectIdentifier(owner)
    return state.withLock { state in
      if state.owner == nil { state.owner = owner }
      return state.owner == owner
    }
  }

  /// Takes the right back, and the tables that the transaction has opened over if it has ended well.
  func release(_ owner: TransactionState, keeping tables: [String: UInt32]) {
    let owner = ObjectIdentifier(owner)
    state.withLock { state in
      guard state.owner == owner else { return }
      state.handles.merge(tables) { _, new in new }
      state.owner = nil
    }
  }

  private static func names(
    _ calls: Calls, _ reader: Calls.Handle, limit: Int
  ) throws(LMDBError) -> [String] {
    let main = try calls.openTable(reader, nil, create: false)
    let cursor = try calls.openCursor(reader, main)
    defer { calls.closeCursor(cursor) }
    var names: [String] = []
    var entry = try calls.move(cursor, .first)
    while let found = entry, names.count < limit {
      if found.value.count == recordBytes, !found.key.contains(0) {
        names.append(String(decoding: found.key, as: UTF8.self))
      }
      entry = try calls.move(cursor, .next)
    }
    return names
  }
}
