import EventStore

/// Checks by the oracle whether a record is visible under the store's policies, and where it went if it is not.
enum FoldVisibility {
  /// Compares under one of the three policies, or under two that differ by type. Each call uses other ones.
  ///
  /// - Parameter expected: the heads of the record's existence.
  static func compare(_ expected: [OracleHead], _ driver: FoldDriver, _ record: Int) throws {
    let heads = expected.map { existence($0, driver.numbering) }
    let (policies, numbers) = policies[driver.history.coverage.comparisons % policies.count]
    let types = expected.map { FoldExistence.isDead($0.content) ? nil : $0.content }
    let wanted = Oracle.visibleType(types) { policies[$0] }
    let found = ExistencePolicy.visibleType(of: heads, numbers).map(driver.numbering.type(of:))
    guard wanted == found else {
      throw FoldMismatch(
        place: "visibility of record r\(record) under policies \(policies)",
        expected: [wanted.map { "type \($0)" } ?? "hidden"], found: [found.map { "type \($0)" } ?? "hidden"])
    }
    guard wanted == nil else { return }
    let last = expected.map(\.content).first(where: FoldExistence.isDead)
    let place = last.flatMap(FoldExistence.place).map { FoldExistence.places[$0] }
    let destination = Existence.destination(of: heads)
    guard place == destination else {
      throw FoldMismatch(
        place: "where record r\(record) went", expected: [place.map { "\($0)" } ?? "nowhere"],
        found: [destination.map { "\($0)" } ?? "nowhere"])
    }
  }

  /// The policies of the two types, and the same by a store's numbers.
  private static let policies: [([ExistencePolicy], [NameNumber: ExistencePolicy])] = {
    let pairs: [[ExistencePolicy]] = [
      [.latest, .latest], [.deleteWins, .deleteWins], [.updateWins, .updateWins], [.latest, .deleteWins],
      [.updateWins, .deleteWins],
    ]
    let numbering = FoldNumbering(turn: 0)
    return pairs.map { policies in
      var numbers: [NameNumber: ExistencePolicy] = [:]
      for (type, policy) in policies.enumerated() where policy != .latest {
        numbers[numbering.number(ofType: type)] = policy
      }
      return (policies, numbers)
    }
  }()

  private static func existence(_ head: OracleHead, _ numbering: FoldNumbering) -> Existence {
    if let place = FoldExistence.place(head.content) { return .moved(to: FoldExistence.places[place]) }
    return head.content == FoldExistence.dead ? .dead : .alive(type: numbering.number(ofType: head.content))
  }
}
