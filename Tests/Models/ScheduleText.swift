/// A schedule for a reader: each step, and what the log is after it.
struct ScheduleText {
  let lines: [String]

  init(_ model: Model, _ steps: [Step]) {
    var world = World(model.bounds)
    var lines: [String] = []
    for step in steps {
      world = model.successors(of: world).first { $0.step == step }!.world
      lines.append("\(step.text)\t log: \(Self.text(of: world.log, in: model.tree))")
    }
    self.lines = lines
  }

  private static func text(of log: Int, in tree: LogTree) -> String {
    tree.path(to: log).map(tree.entry).map { entry in
      "\(entry.transaction + 1)" + (entry.limit.map { " (limit \($0))" } ?? "")
    }.joined(separator: ", ")
  }
}
