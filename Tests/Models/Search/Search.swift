/// Looks at every world that can come to be within bounds, in the order of how many steps it takes.
struct Search<Model: SearchedModel> {
  let model: Model
  /// What has happened before, if not every beginning is to be searched.
  let beginning: [Model.SearchedStep]

  init(_ model: Model, after beginning: [Model.SearchedStep] = []) {
    self.model = model
    self.beginning = beginning
  }

  /// Searches until nothing is left to look at.
  ///
  /// - Throws: the first ``Violation``. No other one has a shorter schedule.
  func run() throws(Violation) -> SearchReport {
    guard let start = model.world(after: beginning) else {
      throw Violation(kind: .stuck, text: "the beginning has a step that cannot be taken")
    }
    var report = SearchReport()
    var known: Set<Model.SearchedWorld> = [start]
    var worlds = [start]
    var origins: [(from: Int, step: Model.SearchedStep?)] = [(0, nil)]
    var next = 0
    while next < worlds.count {
      let world = worlds[next]
      let syncing = model.syncing(world)
      if let violation = model.violation(in: world, isAtRest: syncing.isEmpty) {
        throw explained(violation, at: next, origins)
      }
      if syncing.isEmpty {
        report.atRest += 1
        if model.isNotable(world) { report.notable += 1 }
      }
      for (step, after) in syncing + model.acting(on: world) where known.insert(after).inserted {
        worlds.append(after)
        origins.append((next, step))
      }
      next += 1
      precondition(worlds.count <= model.worldsMax, "more than \(model.worldsMax) worlds")
    }
    report.worlds = worlds.count
    return report
  }

  private func explained(
    _ violation: Violation, at index: Int, _ origins: [(from: Int, step: Model.SearchedStep?)]
  ) -> Violation {
    var steps: [Model.SearchedStep] = []
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
