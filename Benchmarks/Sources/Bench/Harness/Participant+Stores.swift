import Stores

extension Participant {
  /// Tributary with a store that is opened anew for each turn, and closed after it.
  ///
  /// - Parameters:
  ///   - count: how much a turn does, if not as much as the others'.
  ///   - warm: not timed, before the turn.
  ///   - facts: what the turn came to besides the records; the store is closed then.
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

  /// SQLite with a database that is opened anew for each turn, and closed after it.
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
