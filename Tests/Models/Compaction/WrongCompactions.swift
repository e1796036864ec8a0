import Testing

@Suite("The search finds wrong rules of compaction")
struct WrongCompactions {
  /// The same searches find nothing there, because the rule is right.
  typealias Right = ContentCompaction

  /// A wrong rule, where it is searched for, and what it breaks.
  struct Case: CustomTestStringConvertible {
    let flaw: CompactionFlaw
    let bounds: CompactionBounds
    let kind: Violation.Kind

    var testDescription: String { "\(flaw)" }
  }

  static let cases = [
    Case(flaw: .ignoresLanes, bounds: Right.careful, kind: .late),
    Case(flaw: .floorAboveBase, bounds: Right.parting, kind: .late),
    Case(flaw: .lowersFloor, bounds: Right.twoFloors, kind: .different),
    Case(flaw: .compactsChanged, bounds: Right.careful, kind: .different),
    Case(flaw: .seesPlaceOfStamp, bounds: Right.late, kind: .lost),
    Case(flaw: .seesOwnStamp, bounds: Right.late, kind: .lost),
    Case(flaw: .parks, bounds: Right.again, kind: .unequal),
    Case(flaw: .showsUncreated, bounds: Right.careful, kind: .cameBack),
    Case(flaw: .dropsContested, bounds: Right.late, kind: .changed),
    Case(flaw: .decidesExistence, bounds: Right.careless, kind: .changed),
    Case(flaw: .keepsLoser, bounds: Right.careless, kind: .changed),
    Case(flaw: .countsTwice, bounds: Right.careless, kind: .changed),
    Case(flaw: .forgetsUnitCounts, bounds: Right.again, kind: .different),
    Case(flaw: .roundsUnits, bounds: Right.careful, kind: .changed),
    Case(flaw: .compactsTooLate, bounds: Right.careful, kind: .unequal),
    Case(flaw: .promisesLate, bounds: Right.careless, kind: .different),
    Case(flaw: .promisesUndo, bounds: Right.again, kind: .different),
    Case(flaw: .compactsUnsettled, bounds: Right.careful, kind: .unequal),
    Case(flaw: .keepsSight, bounds: Right.careful, kind: .unequal),
    Case(flaw: .dropsPending, bounds: Right.trimming, kind: .unequal),
    Case(flaw: .compactsAtOnce, bounds: Right.careful, kind: .unequal),
    Case(flaw: .forgetsFloor, bounds: Right.joining, kind: .unequal),
    Case(flaw: .forgetsPlaces, bounds: Right.joining, kind: .unequal),
  ]

  @Test("each of them, with the shortest schedule", arguments: cases)
  func finds(_ wrong: Case) throws {
    let bounds = wrong.bounds
    do {
      let report = try Search(CompactionModel(bounds, flaw: wrong.flaw), after: bounds.beginning).run()
      Issue.record("\(wrong.flaw) is not found: \(report)")
    } catch {
      print("\(wrong.flaw): \(error)")
      #expect(error.kind == wrong.kind, "\(error)")
    }
  }

  @Test("there is a search for each of them")
  func all() { #expect(Set(Self.cases.map(\.flaw)) == Set(CompactionFlaw.allCases)) }
}
