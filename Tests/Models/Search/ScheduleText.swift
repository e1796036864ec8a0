/// A schedule for a reader: each step, and what the log is after it.
struct ScheduleText {
  let lines: [String]

  init<Model: SearchedModel>(_ model: Model, _ steps: [Model.SearchedStep]) {
    var world = model.start
    var lines: [String] = []
    for step in steps {
      world = model.successors(of: world).first { $0.step == step }!.world
      lines.append("\(model.text(of: step))\t log: \(model.logText(of: world))")
    }
    self.lines = lines
  }
}
