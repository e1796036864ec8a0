import Synchronization

/// The handles of the open tables of an environment.
///
/// LMDB requires that a handle is opened once and kept, and that only one transaction at a time opens
/// handles. So the environment opens all existing tables when it opens, and `claim` lets one transaction at a
/// time open more.
final class TableCache: Sendable {
  private struct State {
    var handles: [String: UInt32] = [:]
    var owner: ObjectIdentifier?
  }

  private let state: Mutex<State>

  /// Opens all existing tables, up to the limit.
  init(calls: Calls, environment: Calls.Handle, tablesMax: Int) throws(LMDBError) {
    var handles: [String: UInt32] = [:]
    let reader = try calls.begin(environment, parent: nil, readOnly: true)
    do throws(LMDBError) {
      let names = try Self.names(calls, reader, limit: tablesMax) { entry throws(LMDBError) in
        entry.value.count == TreeRecord.byteCount && !entry.key.contains(0)
      }
      for name in names {
        do throws(LMDBError) {
          handles[name] = try calls.openTable(reader, name, create: false)
        } catch {
          // An entry of the main table that is not a table does not concern us.
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

  /// The handle of an open table.
  func handle(of name: String) -> UInt32? {
    state.withLock { $0.handles[name] }
  }

  /// The name of an open table, by its handle.
  func name(of handle: UInt32) -> String? {
    state.withLock { state in state.handles.first { $0.value == handle }?.key }
  }

  /// Allows a transaction to open tables until `release`; false if another transaction may already.
  func claim(_ owner: TransactionState) -> Bool {
    let owner = ObjectIdentifier(owner)
    return state.withLock { state in
      if state.owner == nil { state.owner = owner }
      return state.owner == owner
    }
  }

  /// Ends the claim of a transaction, and keeps the tables that it opened if it was committed.
  func release(_ owner: TransactionState, keeping tables: [String: UInt32]) {
    let owner = ObjectIdentifier(owner)
    state.withLock { state in
      guard state.owner == owner else { return }
      state.handles.merge(tables) { _, new in new }
      state.owner = nil
    }
  }

  /// The keys of the table of tables, in order.
  ///
  /// - Parameter isListed: whether an entry counts.
  static func names(
    _ calls: Calls, _ transaction: Calls.Handle, limit: Int = .max,
    where isListed: (Entry) throws(LMDBError) -> Bool
  ) throws(LMDBError) -> [String] {
    let cursor = try calls.openCursor(transaction, Calls.mainTable)
    defer { calls.closeCursor(cursor) }
    var names: [String] = []
    var entry = try calls.move(cursor, .first)
    while let found = entry, names.count < limit {
      if try isListed(found) { names.append(String(decoding: found.key, as: UTF8.self)) }
      entry = try calls.move(cursor, .next)
    }
    return names
  }
}
