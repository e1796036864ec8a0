/// Looks at every world that can come to be within bounds, in the order of how many steps it takes.
struct Search {
  let model: Model
  /// What has happened before, if not every beginning is to be searched.
  let beginning: [Step]

  init(_ bounds: Bounds, _ rules: Rules = Rules(), after beginning: [Step] = []) {
    model = Model(bounds: bounds, rules: rules)
    self.beginning = beginning
  }

  /// Searches until nothing is left to look at.
  ///
  /// - Throws: the first ``Violation``. No other one has a shorter schedule.
  func run() throws(Violation) -> SearchReport {
    guard let start = model.world(after: beginning) else {
      throw Violation(kind: .stuck, text: "the beginning has a step that cannot be taken")
    }
    let invariants = Invariants(model: model)
    var report = SearchReport()
    var known: Set<World> = [start]
    var worlds = [start]
    var origins: [(from: Int, step: Step?)] = [(0, nil)]
    var next = 0
    while next < worlds.count {
      let world = worlds[next]
      let syncing = model.syncing(world)
      if syncing.isEmpty {
        report.note(atRest: world, in: model.tree)
        if let violation = invariants.violation(in: world) {
          throw explained(violation, at: next, origins)
        }
      }
      for (step, after) in syncing + model.acting(on: world) where known.insert(after).inserted {
        worlds.append(after)
        origins.append((next, step))
        if model.tree.offset(of: after.log) > model.bounds.entriesMax {
          let violation = Violation(kind: .endless, text: "the log grows and grows")
          throw explained(violation, at: worlds.count - 1, origins)
        }
      }
      next += 1
      precondition(worlds.count <= model.bounds.statesMax, "more than \(model.bounds.statesMax) worlds")
    }
    report.worlds = worlds.count
    return report
  }

  private func explained(_ violation: Violation, at index: Int, _ origins: [(from: Int, step: Step?)])
    -> Violation
  {
    var steps: [Step] = []
    var at = index
    while let step = origins[at].step {
      steps.append(step)
      at = origins[at].from
    }
    var violation = violation
    violation.schedule = ScheduleText(model, beginning + steps.reversed()).lines
    return violation
  }
}
