/// What must hold once nothing moves any more.
struct Invariants {
  let model: Model

  private var tree: LogTree { model.tree }

  /// The first violation in a world at rest. After a lie all readers must still agree, but what the lie is
  /// about may be wrong.
  func violation(in world: World) -> Violation? {
    let reading = Reading(world.log, of: world, in: tree, flaw: canonicalFlaw)
    let isHonest = world.liesLeft == model.bounds.lies
    return stuck(world) ?? lost(world, reading) ?? twice(world, reading) ?? rejected(world, reading)
      ?? (isHonest ? causality(world, reading) : nil) ?? unequal(world, reading)
  }

  /// The wrong rule of the reader that starts new: a flaw that only some have is not its.
  private var canonicalFlaw: Rules.Flaw? {
    let flaw = model.rules.flaw
    return flaw == .ignoresLimitsSomewhere || flaw == .keepsOwnLimits ? nil : flaw
  }

  private func stuck(_ world: World) -> Violation? {
    for (index, replica) in world.replicas.enumerated() where !replica.isGone {
      guard replica.read == world.log, replica.queue.isEmpty, replica.ahead.isEmpty else {
        return Violation(kind: .stuck, text: "replica \(index) is not at the log's end, or has yet to send")
      }
    }
    return nil
  }

  private func lost(_ world: World, _ reading: Reading) -> Violation? {
    let origins = Set(reading.order.map { world.transactions[$0].origin })
    for (index, replica) in world.replicas.enumerated() where !replica.isGone {
      for number in replica.had.numbers where !origins.contains(world.transactions[number].origin) {
        return Violation(kind: .lost, text: "replica \(index) had \(number + 1), and the log has not")
      }
    }
    return nil
  }

  private func twice(_ world: World, _ reading: Reading) -> Violation? {
    var origins: Set<Int> = []
    for number in reading.order where !origins.insert(world.transactions[number].origin).inserted {
      return Violation(kind: .twice, text: "\(world.transactions[number].origin + 1) counts twice")
    }
    return nil
  }

  /// What readers would reject by the log alone.
  private func rejected(_ world: World, _ reading: Reading) -> Violation? {
    for (place, number) in reading.order.enumerated() {
      let lane = world.transactions.indices.filter {
        $0 < number && world.transactions[$0].writer == world.transactions[number].writer
      }
      let base = reading.bases[number]!
      if base >= reading.offsets[number]! {
        return Violation(kind: .rejected, text: "\(number + 1) has a base that is not before it")
      }
      for earlier in lane {
        guard reading.order[..<place].contains(earlier) else {
          return Violation(kind: .rejected, text: "\(number + 1) comes before \(earlier + 1) of its lane")
        }
        guard reading.bases[earlier]! <= base else {
          return Violation(
            kind: .rejected, text: "the base of \(number + 1) is before that of \(earlier + 1)")
        }
      }
    }
    return nil
  }

  private func causality(_ world: World, _ reading: Reading) -> Violation? {
    var before = NumberSet()
    for number in reading.order {
      let (seen, shown) = (reading.seen[number]!, world.transactions[number].shown)
      for other in reading.order where other != number {
        switch (seen.contains(other), shown.contains(other)) {
        case (true, false):
          return Violation(
            kind: .causalityInvented, text: "\(number + 1) counts as having seen \(other + 1)")
        case (false, true) where !mayBeForgotten(other, by: number, in: world):
          return Violation(
            kind: .causalityLost, text: "\(number + 1) had seen \(other + 1), and the log does not say it")
        default: break
        }
      }
      guard seen.isSubset(of: before) else {
        return Violation(kind: .tooEarly, text: "\(number + 1) comes before something that it had seen")
      }
      before.insert(number)
    }
    return nil
  }

  /// Whether the rules give up that X had seen Y: only if Y is another writer's, and X had seen it in a log
  /// in which something else has since stood there, or before.
  private func mayBeForgotten(_ y: Int, by x: Int, in world: World) -> Bool {
    let writer = world.transactions[x].writer
    guard writer != world.transactions[y].writer else { return false }
    let sources = world.transactions[x].sources
    return (model.rules.flaw == .promisesMore ? Array(sources[..<1]) : sources).contains { source in
      tree.path(to: source.log, after: source.kept).contains { tree.entry(of: $0).transaction == y }
    }
  }

  private func unequal(_ world: World, _ reading: Reading) -> Violation? {
    let canonical = reading.state
    for (index, replica) in world.replicas.enumerated() where !replica.isGone {
      let own = Reading(
        replica.read, of: world, in: tree, flaw: flaw(ofReader: index, in: world),
        ownLimits: replica.ownLimits)
      if own.state != canonical {
        return Violation(
          kind: .unequal, text: "replica \(index) shows \(own.state), the log says \(canonical)")
      }
    }
    return nil
  }

  private func flaw(ofReader replica: Int, in world: World) -> Rules.Flaw? {
    guard model.rules.flaw == .ignoresLimitsSomewhere else { return model.rules.flaw }
    return replica == world.replicas.count - 1 ? .ignoresLimits : nil
  }
}
