import Testing

@Suite("Every schedule of a log that went back")
struct LogsThatWentBack {
  /// What each write does to both cells, in turn.
  static let kinds: [[Transaction.Kind]] = [[.setAndAdd], [.setAndRemove], [.setAndAdd], [.setAndRemove]]
  /// Each write is a choice.
  static let choices: [[Transaction.Kind]] = [[.set, .add], [.set, .add, .remove], [.set, .remove]]

  static let bounds = [
    Bounds(replicas: 2, kinds: kinds, goingsBack: 2),
    Bounds(replicas: 2, kinds: choices, goingsBack: 1),
    Bounds(replicas: 3, kinds: Array(kinds[..<3]), goingsBack: 1),
    Bounds(replicas: 2, kinds: Array(kinds[..<3]), goingsBack: 1, grain: .steps),
    Bounds(
      replicas: 2, kinds: Array(kinds[..<2]), goingsBack: 1, lostAnswers: 1, departures: 1, grain: .entries),
  ]

  static let wideBounds = [
    Bounds(replicas: 2, kinds: kinds, goingsBack: 1, grain: .steps),
    Bounds(replicas: 3, kinds: kinds, goingsBack: 1),
    Bounds(replicas: 3, kinds: Array(kinds[..<3]), goingsBack: 3),
    Bounds(replicas: 3, kinds: Array(kinds[..<3]), goingsBack: 1, departures: 1),
    Bounds(replicas: 2, kinds: Array(kinds[..<3]), goingsBack: 2, grain: .entries),
    Bounds(
      replicas: 2, kinds: Array(kinds[..<3]), goingsBack: 1, lostAnswers: 1, departures: 1, grain: .steps),
    Bounds(replicas: 2, kinds: Array(kinds[..<3]), goingsBack: 1, lies: 1),
  ]

  @Test(
    "all replicas agree, nothing is lost or counts twice, and no transaction has seen what it had not",
    arguments: bounds)
  func search(_ bounds: Bounds) throws {
    let report = try Search(Model(bounds)).run()
    print("\(bounds): \(report)")
    #expect(report.atRest > 0)
    if bounds.kinds.count > 2 { #expect(report.notable > 0, "no log was replaced and offered again") }
  }

  @Test("and further", .enabled(if: WideTests.areWanted, "`make test-wide` runs it"), arguments: wideBounds)
  func searchFurther(_ bounds: Bounds) throws { try search(bounds) }

  @Test("after a stranger's lie about a limit, all replicas still agree, and no lane is closed")
  func lies() throws {
    let bounds = Bounds(replicas: 2, kinds: Array(Self.kinds[..<3]), goingsBack: 1, lies: 1)
    let beginning: [Step] = [
      .write(0, .setAndAdd), .sync(0), .write(0, .setAndRemove), .write(1, .setAndAdd), .goBack(0), .sync(1),
    ]
    let report = try Search(Model(bounds), after: beginning).run()
    print("\(bounds): \(report)")
    #expect(report.notable > 1)
  }
}
