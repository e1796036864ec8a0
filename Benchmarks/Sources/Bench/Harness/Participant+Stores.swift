import Stores

extension Participant {
  /// Tributary with a store that is opened for each turn, and closed after it.
  ///
  /// - Parameters:
  ///   - count: the work of a turn, if it differs from the others'.
  ///   - warm: runs before the turn, and is not timed.
  ///   - facts: the results of the turn besides the records; the store is already closed.
  static func engine(
    _ name: Name = .tributary, count: Int? = nil, open: @escaping () throws -> Engine,
    warm: @escaping (Engine) throws -> Void = { _ in }, turn: @escaping (Engine) async throws -> Void,
    facts: @escaping () throws -> [Fact: UInt64] = { [:] }
  ) -> Participant {
    var engine: Engine?
    return Participant(
      name: name, count: count,
      prepare: {
        engine = try open()
        try warm(engine!)
      },
      turn: { try await turn(engine!) },
      finish: {
        let digest = try engine!.digest()
        engine = nil
        return try facts().merging([.records: digest]) { own, _ in own }
      })
  }

  /// SQLite with a database that is opened for each turn, and closed after it.
  ///
  /// - Parameters: as ``engine(_:count:open:warm:turn:facts:)``; the database is still open for `facts`.
  static func sqlite(
    open: @escaping () throws -> SQLite, warm: @escaping (SQLite) throws -> Void = { _ in },
    turn: @escaping (SQLite) async throws -> Void,
    facts: @escaping (SQLite) throws -> [Fact: UInt64] = { _ in [:] }
  ) -> Participant {
    var sqlite: SQLite?
    return Participant(
      name: .sqlite,
      prepare: {
        sqlite = try open()
        try warm(sqlite!)
      },
      turn: { try await turn(sqlite!) },
      finish: {
        let digest = try sqlite!.digest()
        let others = try facts(sqlite!)
        try sqlite!.close()
        sqlite = nil
        return others.merging([.records: digest]) { own, _ in own }
      })
  }
}
