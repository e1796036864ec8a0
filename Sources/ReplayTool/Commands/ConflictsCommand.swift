import ArgumentParser
import EventStore

/// `replay conflicts`: the cells that have losers.
struct ConflictsCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts", abstract: "Lists changes that replicas made without having seen each other.",
    discussion: """
      The next write of its field settles a conflict. Until then the app can bring back what lost, with `restore`; \
      replay has no command for that. `replay explain` says why a value won.

      Example: replay conflicts notes.store shopping
      """)

  @OptionGroup var store: StoreOptions

  @Argument(help: "Only this zone.")
  var zone: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    var count = 0
    var makers = HeadMakers()
    try opened.read { transaction in
      if let zone { try Inputs.check(zone, in: transaction) }
      for zone in try zone.map({ [$0] }) ?? transaction.zones() {
        try transaction.forEachConflict(in: zone) { conflict in
          if console.isInterrupted() { throw Interrupted() }
          if store.json {
            try console.output.line(conflict.json)
          } else {
            if count > 0 { try console.output.line() }
            try print(conflict, console.output, &makers, transaction)
          }
          count += 1
          return true
        }
      }
    }
    if count == 0, !store.json { try console.output.line(console.output.styled("no conflicts", .quiet)) }
    return nil
  }

  /// How many losers of a conflict are printed; the others are only counted.
  private static let losersMax = 50

  private func print(
    _ conflict: Conflict, _ output: Output, _ makers: inout HeadMakers,
    _ transaction: borrowing ReadTransaction
  ) throws {
    let field = conflict.field.map { Display.name($0) } ?? "existence"
    // If replicas set a field to the same value without having seen each other, there is no real conflict.
    let agrees = conflict.losers.allSatisfy { $0.content == conflict.winner.content }
    try output.line(
      output.styled("\(Display.record(conflict.record))  \(field)", .heading)
        + (agrees ? output.styled("  all say the same", .quiet) : ""))
    var columns = Columns(output, indent: 2)
    for (index, head) in ([conflict.winner] + conflict.losers.prefix(Self.losersMax)).enumerated() {
      let maker = try makers.maker(of: head, in: conflict.record.zone, transaction)
      try columns.add([
        .init(index == 0 ? "won" : "lost", index == 0 ? .winner : .loser), .init(HeadText.content(head)),
        .init(maker.author ?? "-"), .init(Display.writer(maker.transaction), .quiet),
        .init(Display.time(head.timestamp), .quiet), .init(maker.place, .quiet),
      ])
    }
    try columns.flush()
    guard conflict.losers.count > Self.losersMax else { return }
    let rest = "  … and \(Display.count(conflict.losers.count - Self.losersMax)) more: --json prints all"
    try output.line(output.styled(rest, .quiet))
  }
}
