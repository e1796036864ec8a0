import Testing

@Suite("The search finds wrong rules")
struct WrongRules {
  /// A wrong rule, where it is searched for, and what it breaks.
  struct Case: CustomTestStringConvertible {
    let flaw: Rules.Flaw
    let bounds: Bounds
    var beginning: [Step] = []
    let kind: Violation.Kind

    var testDescription: String { "\(flaw)" }
  }

  private static let two = Bounds(replicas: 2, kinds: Array(LogsThatWentBack.kinds[..<3]), goingsBack: 1)
  private static let twoInSteps = Bounds(replicas: 2, kinds: two.kinds, goingsBack: 1, grain: .steps)
  private static let three = Bounds(replicas: 3, kinds: two.kinds, goingsBack: 1)
  private static let threeOneLeaves = Bounds(replicas: 3, kinds: two.kinds, goingsBack: 1, departures: 1)

  static let cases = [
    Case(flaw: .refillsUnverified, bounds: two, kind: .rejected),
    Case(flaw: .ignoresLimits, bounds: two, kind: .causalityInvented),
    Case(flaw: .ignoresLimitsSomewhere, bounds: two, kind: .unequal),
    Case(
      flaw: .keepsOwnLimits, bounds: Bounds(replicas: 3, kinds: two.kinds, goingsBack: 2),
      // B sets a limit. Then A, which has read the first log, may put it back before B parts again.
      beginning: [
        .write(0, .setAndAdd), .sync(0), .sync(1), .write(1, .setAndRemove), .write(2, .setAndAdd),
      ], kind: .unequal),
    Case(
      flaw: .limitsBelowLane,
      bounds: Bounds(replicas: 3, kinds: LogsThatWentBack.kinds, goingsBack: 2),
      // A sets limits for its lane. Then B, which has read the first log, may put some of it back as it was.
      beginning: [
        .write(0, .setAndAdd), .sync(0), .write(0, .setAndRemove), .sync(0), .sync(1),
        .write(0, .setAndAdd), .write(2, .setAndRemove), .goBack(0), .sync(2), .sync(0),
      ], kind: .rejected),
    Case(
      flaw: .raisesLimits,
      bounds: Bounds(replicas: 2, kinds: (0..<5).map { _ in [.setAndAdd] }, goingsBack: 2),
      // A has written with the base 2, and its limit is 0.
      beginning: [
        .write(0, .setAndAdd), .sync(0), .write(0, .setAndAdd), .sync(0), .write(0, .setAndAdd),
        .write(1, .setAndAdd), .goBack(0), .sync(1), .sync(0),
      ], kind: .causalityInvented),
    Case(flaw: .keepsBase, bounds: twoInSteps, kind: .causalityInvented),
    Case(flaw: .offersBackwards, bounds: two, kind: .rejected),
    Case(flaw: .issuesAgain, bounds: three, kind: .twice),
    Case(
      flaw: .dropsOthers, bounds: threeOneLeaves,
      beginning: [.write(0, .setAndAdd), .sync(0), .sync(1)], kind: .lost),
    Case(flaw: .promisesMore, bounds: twoInSteps, kind: .causalityLost),
  ]

  @Test("each of them, with the shortest schedule", arguments: cases)
  func finds(_ wrong: Case) throws {
    do {
      let report = try Search(Model(wrong.bounds, Rules(flaw: wrong.flaw)), after: wrong.beginning).run()
      Issue.record("\(wrong.flaw) is not found: \(report)")
    } catch {
      print("\(wrong.flaw): \(error)")
      #expect(error.kind == wrong.kind, "\(error)")
    }
  }

  /// The searches, each once.
  static let searches = cases.enumerated().filter { index, one in
    !cases[..<index].contains {
      $0.bounds.description == one.bounds.description && $0.beginning == one.beginning
    }
  }.map(\.element)

  @Test("the same searches find nothing if the rules are right", arguments: searches)
  func findsNothing(_ search: Case) throws {
    _ = try Search(Model(search.bounds), after: search.beginning).run()
  }

  @Test("there is a search for each of them")
  func all() { #expect(Set(Self.cases.map(\.flaw)) == Set(Rules.Flaw.allCases)) }
}
