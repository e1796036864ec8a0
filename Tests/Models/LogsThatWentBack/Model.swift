/// What can happen in a world, and what it leads to.
struct Model {
  let bounds: Bounds
  let rules: Rules
  let tree = LogTree()

  init(_ bounds: Bounds, _ rules: Rules = Rules()) {
    self.bounds = bounds
    self.rules = rules
  }

  /// The steps that are no syncing, as far as there may be more of them.
  func acting(on world: World) -> [(step: Step, world: World)] {
    var all: [(step: Step, world: World)] = []
    for replica in active(in: world) {
      if world.writesLeft > 0 {
        for kind in bounds.kinds[bounds.kinds.count - world.writesLeft] {
          all.append((.write(replica, kind), writing(kind, by: replica, in: world)))
        }
      }
      if world.departuresLeft > 0 {
        var next = world
        next.departuresLeft -= 1
        next.replicas[replica].isGone = true
        all.append((.leave(replica), next))
      }
    }
    if world.goingsBackLeft > 0 {
      for offset in 0..<tree.offset(of: world.log) {
        var next = world
        next.goingsBackLeft -= 1
        next.setLog(tree.prefix(of: world.log, upTo: offset), in: tree)
        all.append((.goBack(offset), next))
      }
    }
    return all + lying(in: world)
  }

  /// A stranger's entries: any transaction that the log can take, with any wrong limit.
  private func lying(in world: World) -> [(step: Step, world: World)] {
    guard world.liesLeft > 0 else { return [] }
    let known = tree.transactions(of: world.log)
    var all: [(step: Step, world: World)] = []
    for (number, transaction) in world.transactions.enumerated() {
      let lane = (0..<number).filter { world.transactions[$0].writer == transaction.writer }
      guard lane.allSatisfy(known.contains) else { continue }
      for limit in 0...tree.offset(of: world.log) {
        var next = world
        next.liesLeft -= 1
        next.setLog(
          tree.appending(Entry(number, of: world.transactions, limit: limit), to: world.log), in: tree)
        all.append((.lie(number, limit), next))
      }
    }
    return all
  }

  /// The steps of syncing that change a world. If there are none, the world is at rest.
  func syncing(_ world: World) -> [(step: Step, world: World)] {
    var all: [(step: Step, world: World)] = []
    for replica in active(in: world) {
      if bounds.grain != .rounds {
        all += fineSteps(of: replica, in: world)
      } else {
        let next = synced(replica, in: world)
        if next != world { all.append((.sync(replica), next)) }
      }
    }
    return all
  }

  private func fineSteps(of replica: Int, in world: World) -> [(step: Step, world: World)] {
    var all: [(step: Step, world: World)] = []
    let read = reading(by: replica, in: world)
    if read != world { all.append((.read(replica), read)) }
    if let next = puttingBack(by: replica, in: world) { all.append((.putBack(replica), next)) }
    if let next = appending(by: replica, in: world, isAnswered: true) { all.append((.append(replica), next)) }
    if world.lostAnswersLeft > 0,
      var next = appending(by: replica, in: world, isAnswered: false), next.log != world.log
    {
      next.lostAnswersLeft -= 1
      all.append((.appendWithoutAnswer(replica), next))
    }
    return all
  }

  private func synced(_ replica: Int, in world: World) -> World {
    var next = world
    while true {
      let before = next
      next = reading(by: replica, in: next)
      while let after = puttingBack(by: replica, in: next) { next = after }
      while let after = appending(by: replica, in: next, isAnswered: true) { next = after }
      if next == before { return next }
    }
  }

  /// The replicas that may do something: not those that are gone, nor those that are like an earlier one in
  /// all.
  func active(in world: World) -> [Int] {
    var writers = NumberSet()
    for transaction in world.transactions { writers.insert(transaction.writer) }
    return world.replicas.indices.filter { replica in
      if world.replicas[replica].isGone { return false }
      // By that wrong rule, the last replica is another one.
      if writers.contains(replica) || rules.flaw == .ignoresLimitsSomewhere { return true }
      return !(0..<replica).contains {
        !writers.contains($0) && world.replicas[$0] == world.replicas[replica]
      }
    }
  }

  func writing(_ kind: Transaction.Kind, by replica: Int, in world: World) -> World {
    var next = world
    let (number, writer) = (world.transactions.count, world.replicas[replica])
    var base = tree.offset(of: writer.read)
    if rules.flaw == .keepsBase {
      base = max(base, writer.lostLogs.map { tree.offset(of: $0.log) }.max() ?? 0)
    }
    var source = Source(log: writer.read, kept: tree.offset(of: writer.read))
    source.note(world.log, in: tree)
    next.transactions.append(
      Transaction(
        writer: replica, kind: kind, base: base, shown: world.shown(by: replica, in: tree),
        sources: [source] + writer.lostLogs, origin: number))
    next.replicas[replica].queue.append(Entry(number, of: next.transactions))
    next.replicas[replica].had.insert(number)
    next.writesLeft -= 1
    return next
  }
}

extension Model: SearchedModel {
  var start: World { World(bounds) }
  var worldsMax: Int { bounds.statesMax }

  func violation(in world: World, isAtRest: Bool) -> Violation? {
    if tree.offset(of: world.log) > bounds.entriesMax {
      return Violation(kind: .endless, text: "the log grows and grows")
    }
    return isAtRest ? Invariants(model: self).violation(in: world) : nil
  }

  /// Whether the log has a limit in it: something was lost, replaced and offered again.
  func isNotable(_ world: World) -> Bool {
    tree.path(to: world.log).contains { tree.entry(of: $0).limit != nil }
  }

  func text(of step: Step) -> String { step.text }

  func logText(of world: World) -> String {
    tree.path(to: world.log).map(tree.entry).map { entry in
      "\(entry.transaction + 1)" + (entry.limit.map { " (limit \($0))" } ?? "")
    }.joined(separator: ", ")
  }
}
