/// What can happen to replicas whose log is compacted: they sync as in ``Model``, and fold what they have
/// read.
struct CompactionModel {
  let bounds: CompactionBounds
  let rule: CompactionRule
  let model: Model
  let checker: LogChecker

  var tree: LogTree { model.tree }

  init(_ bounds: CompactionBounds, flaw: CompactionFlaw? = nil) {
    self.bounds = bounds
    rule = CompactionRule(flaw: flaw, clocksRun: bounds.clocksRun)
    model = Model(bounds.syncing)
    checker = LogChecker(rule, model.tree, bounds)
  }
}

extension CompactionModel: SearchedModel {
  var start: CompactionWorld { CompactionWorld(bounds) }
  var worldsMax: Int { 3_000_000 }

  func syncing(_ world: CompactionWorld) -> [(step: CompactionStep, world: CompactionWorld)] {
    var all: [(step: CompactionStep, world: CompactionWorld)] = []
    for (step, after) in model.syncing(world.basic) where !needsSnapshot(step.replica, in: world) {
      all.append((.basic(step), folding(after, by: step.replica, in: world)))
    }
    for replica in world.stores.indices where needsSnapshot(replica, in: world) {
      all.append((.startAgain(replica), startingAgain(replica, in: world)))
    }
    return all
  }

  func acting(on world: CompactionWorld) -> [(step: CompactionStep, world: CompactionWorld)] {
    var all: [(step: CompactionStep, world: CompactionWorld)] = []
    for (step, after) in model.acting(on: world.basic) {
      var next = world
      next.basic = after
      all.append((.basic(step), next))
    }
    let active = model.active(in: world.basic)
    for replica in active where world.basic.writesLeft > 0 && !needsSnapshot(replica, in: world) {
      for operation in operations(of: replica, in: world) {
        all.append(
          (.basic(.write(replica, .content(operation))), writing(operation, by: replica, in: world)))
      }
    }
    for replica in active where world.joinsLeft + world.trimsLeft > 0 && isSettled(replica, in: world) {
      guard world.basic.replicas[replica].read != LogTree.root else { continue }
      let snapshot = self.snapshot(of: replica, in: world)
      if world.joinsLeft > 0 {
        var next = world
        next.joinsLeft -= 1
        next.basic.replicas.append(Replica())
        next.stores.append(Store(snapshot))
        start(next.stores.count - 1, from: snapshot, in: &next)
        all.append((.join(from: replica), next))
      }
      if world.trimsLeft > 0, snapshot != world.snapshot {
        var next = world
        next.trimsLeft -= 1
        next.snapshot = snapshot
        all.append((.trim(by: replica), next))
      }
    }
    return all
  }

  func isNotable(_ world: CompactionWorld) -> Bool {
    checker.state(after: world.basic.log).floor > 0
  }

  func text(of step: CompactionStep) -> String { step.text }
  func logText(of world: CompactionWorld) -> String { model.logText(of: world.basic) }
}
