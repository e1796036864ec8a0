import Testing

@Suite("Every schedule of a log that is compacted")
struct ContentCompaction {
  typealias Change = ContentOperation.Change

  static let changes: [Change?] = [.grow, .shrink, .delete]
  static let any: [Change?] = [.make, .grow, .shrink, .delete, .revive, nil]
  /// A record is there at both replicas.
  static let made: [CompactionStep] = [.write(0, .make), .sync(0), .sync(1)]
  /// One has deleted it, and the other does not know.
  static let deleted = made + [.write(0, .delete), .sync(0)]

  // In each of these the search also finds what breaks without a part of the rule: see ``WrongCompactions``.

  static let careful = CompactionBounds(
    writes: [[.make], changes, [.grow, nil], [.grow, nil]], beginning: made)
  static let careless = CompactionBounds(
    writes: [[.make], [.grow, .delete], [.grow, nil], [.grow, nil]], floors: .any, clocksRun: true,
    beginning: made)
  static let late = CompactionBounds(
    writes: [[.make], [.delete], [.grow], [nil], [.make, .grow]], floors: .any, beginning: made)
  /// A floor is about to be, and a change that has not seen all below it.
  static let twoFloors = CompactionBounds(
    writes: [[.make], [.grow], [.grow], [nil], [nil]], floors: .any,
    beginning: made + [
      .write(0, .grow, at: UnitName(writer: 0, number: 0)), .sync(0),
      .write(1, .grow, at: UnitName(writer: 0, number: 0)), .compact(0, floor: 2),
    ])
  static let again = CompactionBounds(
    writes: [[.make], [.delete], [.grow, .revive], [nil], [.make, .revive], [.shrink]], floors: .any,
    beginning: deleted)
  static let joining = CompactionBounds(
    writes: [[.make], [.grow], [nil], [.grow]], joins: 1, beginning: made)
  static let trimming = CompactionBounds(
    writes: [[.make], [.grow, .delete], [nil], [.grow]], trims: 1, beginning: made)
  /// The log goes back before the floor, which is offered again where it has something else below it.
  static let parting = CompactionBounds(
    replicas: 3, writes: [[.make], [.grow], [.grow], [nil], [.grow], [.grow]], goingsBack: 1,
    beginning: made + [
      .sync(2), .write(1, .grow, at: UnitName(writer: 0, number: 0)), .sync(1), .sync(0),
      .write(0, .grow, at: UnitName(writer: 1, number: 0)), .sync(0), .sync(1), .compact(1, floor: 2),
      .write(2, .grow, at: UnitName(writer: 0, number: 0)),
    ])

  static let bounds = [
    careful, careless, late, twoFloors, again, joining, trimming, parting,
    CompactionBounds(replicas: 3, writes: [[.make], [.grow], [.grow], [nil]], floors: .any, beginning: made),
    CompactionBounds(
      writes: [[.make], [.grow], [nil], [.grow]], floors: .any, goingsBack: 1, beginning: made),
    CompactionBounds(
      writes: [[.make], [.grow], [nil]], floors: .any, lostAnswers: 1, grain: .entries),
  ]

  static let wideBounds = [
    CompactionBounds(writes: [[.make], any, any, any], floors: .any, clocksRun: true),
    CompactionBounds(writes: [[.make], changes, any, any, any], floors: .any, beginning: made),
    CompactionBounds(
      writes: [[.make], [.delete], any, any, any], floors: .any, clocksRun: true, beginning: deleted),
    CompactionBounds(
      records: 2, writes: [[.make], [.make], [.grow, .delete], [nil], [.grow, .delete]], floors: .any,
      beginning: [.write(0, .make), .write(1, .make, record: 1), .sync(0), .sync(1), .sync(0)]),
    CompactionBounds(
      replicas: 3, writes: [[.make], changes, changes, [nil], [.grow]], floors: .any, beginning: made),
    CompactionBounds(
      replicas: 3, writes: [[.make], [.grow], [.grow, nil], [.grow, nil], [.grow]], beginning: made),
    CompactionBounds(
      writes: [[.make], changes, [nil], [.grow, nil], [.grow]], goingsBack: 1, beginning: made),
    CompactionBounds(
      writes: [[.make], [.grow, .delete], [.grow, nil], [.grow, nil]], floors: .any, goingsBack: 2,
      beginning: made),
    CompactionBounds(
      writes: [[.make], [.grow], [nil]], floors: .any, goingsBack: 1, grain: .steps),
    CompactionBounds(writes: [[.make], [.grow, .delete], [nil], [.grow]], floors: .any, grain: .steps),
    CompactionBounds(writes: [[.make], changes, [nil], changes], floors: .any, joins: 1, beginning: made),
    CompactionBounds(
      writes: [[.make], changes, [.grow, nil], changes], floors: .any, trims: 2, beginning: made),
    CompactionBounds(
      writes: [[.make], [.grow], [nil], [.grow]], floors: .any, lostAnswers: 1, grain: .entries),
  ]

  @Test("all stores agree, and floors change nothing that users see", arguments: bounds)
  func search(_ bounds: CompactionBounds) throws {
    let report = try Search(CompactionModel(bounds), after: bounds.beginning).run()
    print("\(bounds): \(report)")
    #expect(report.notable > 0, "no floor counted")
  }

  @Test(
    "and further", .enabled(if: WideTests.areWanted, "`make test-wide` runs it"), arguments: wideBounds)
  func searchFurther(_ bounds: CompactionBounds) throws { try search(bounds) }
}

extension CompactionStep {
  static func write(
    _ replica: Int, _ change: ContentOperation.Change, record: Int = 0, at unit: UnitName? = nil
  ) -> CompactionStep {
    .basic(.write(replica, .content(.change(change, record: record, unit: unit))))
  }

  static func compact(_ replica: Int, floor: Int) -> CompactionStep {
    .basic(.write(replica, .content(.compact(floor: floor))))
  }

  static func sync(_ replica: Int) -> CompactionStep { .basic(.sync(replica)) }
}
