import OperationFormat

/// Decides whether a record is there when replicas that had not seen each other deleted and updated it.
///
/// The policy is read, not folded: changing it changes no data, only which records are visible.
public enum ExistencePolicy: UInt8, Hashable, Sendable, CaseIterable {
  /// The latest of the concurrent operations decides.
  case latest = 0
  /// The record is deleted if any of them deleted it.
  case deleteWins = 1
  /// The record is alive if any of them updated it.
  case updateWins = 2
}

extension ExistencePolicy {
  /// The type of a record that is visible by only the greatest head of its existence; nil if the others must
  /// tell.
  static func visibleType(ofGreatest payload: RawSpan, _ policies: [NameNumber: ExistencePolicy]) throws
    -> NameNumber?
  {
    guard case .alive(let type) = try Existence(payload: payload), policies[type] != .deleteWins else {
      return nil
    }
    return type
  }

  /// The type of a record that a policy may let be visible; nil if none does.
  static func typeOfAlive(in heads: some Sequence<Existence>) -> NameNumber? {
    for case .alive(let type) in heads { return type }
    return nil
  }

  /// The type of a record that is visible, nil for one that is not.
  ///
  /// - Parameters:
  ///   - heads: the heads of the record's existence, greatest first.
  ///   - policies: the policies of the types that have another than `latest`.
  package static func visibleType(
    of heads: some Sequence<Existence>, _ policies: [NameNumber: ExistencePolicy]
  ) -> NameNumber? {
    var type: NameNumber?
    var isFirstAlive = false
    var hasDead = false
    for (index, head) in heads.enumerated() {
      switch head {
      case .dead, .moved: hasDead = true
      case .alive(let found):
        if index == 0 { isFirstAlive = true }
        if type == nil { type = found }
      }
    }
    guard let type else { return nil }
    let isVisible =
      switch policies[type] ?? .latest {
      case .latest: isFirstAlive
      case .deleteWins: !hasDead
      case .updateWins: true
      }
    return isVisible ? type : nil
  }
}
