import EventStore
import Foundation
import StoreTesting
import Testing

// The examples of TestingYourApp.md are between the marks: an app author's code, which may use only public
// API.

// page
/// The shopping list of a household. What is bought names its buyer, and what is not names nobody.
struct ShoppingList {
  static let zone = ZoneID(name: "shopping")

  /// Puts a thing on the list, or back on it.
  static func want(_ thing: RecordID, _ transaction: inout WriteTransaction) throws {
    if try !transaction.contains(thing) { try transaction.create(thing, type: "thing") }
    try transaction.set("isBought", of: thing, to: .bool(false))
    try transaction.clear("buyer", of: thing)
  }

  /// Notes who bought a thing.
  static func buy(_ thing: RecordID, for buyer: String, _ transaction: inout WriteTransaction) throws {
    try transaction.set("isBought", of: thing, to: .bool(true))
    try transaction.set("buyer", of: thing, to: .string(buyer))
  }
}
// page end

// page
/// What the devices of a simulated world do with the list.
struct ShoppingWorkload: SimulationWorkload {
  let name = "shopping"
  let zones = [ShoppingList.zone]

  func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    // Few things, so that many devices meet at the same one.
    let thing = RecordID(zone: ShoppingList.zone, name: choices.pick(["milk", "tea"]))
    switch try transaction.contains(thing) ? choices.next(below: 8) : 0 {
    case 0..<3: try ShoppingList.want(thing, &transaction)
    case 3..<7: try ShoppingList.buy(thing, for: choices.pick(["ann", "bob"]), &transaction)
    default: try transaction.delete(thing)
    }
  }

  func check(_ transaction: borrowing ReadTransaction) throws {
    try transaction.forEachRecord(in: ShoppingList.zone, type: "thing") { thing in
      guard (thing["isBought"] == .bool(true)) == (thing["buyer"] != nil) else {
        throw SimulationFailure(.workloadHolds, "\(thing.id) names \(thing["buyer"] ?? "nobody")")
      }
      return true
    }
  }
}
// page end

// page
@Suite("A shopping list in worlds where everything fails")
struct ShoppingListWorlds {
  @Test("names a buyer for what is bought, and for nothing else", arguments: 1...3 as ClosedRange<UInt64>)
  func keepsItsRule(seed: UInt64) {
    let simulation = Simulation(SimulationOptions(workloads: [ShoppingWorkload()]))
    let failure = simulation.run(seed: seed).failure
    #expect(failure == nil, "seed \(seed)")
  }
}
// page end

// page
extension ShoppingList {
  /// Notes who bought a thing, and writes only what changes.
  static func buyBriefly(
    _ thing: RecordID, for buyer: String, _ transaction: inout WriteTransaction
  ) throws {
    if try transaction.value(of: "isBought", in: thing) != .bool(true) {
      try transaction.set("isBought", of: thing, to: .bool(true))
    }
    try transaction.set("buyer", of: thing, to: .string(buyer))
  }
}
// page end

/// The workload with the version that breaks the rule.
struct BriefShoppingWorkload: SimulationWorkload {
  let name = "shopping"
  let zones = [ShoppingList.zone]

  func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    let thing = RecordID(zone: ShoppingList.zone, name: choices.pick(["milk", "tea"]))
    switch try transaction.contains(thing) ? choices.next(below: 8) : 0 {
    case 0..<3: try ShoppingList.want(thing, &transaction)
    case 3..<7: try ShoppingList.buyBriefly(thing, for: choices.pick(["ann", "bob"]), &transaction)
    default: try transaction.delete(thing)
    }
  }

  func check(_ transaction: borrowing ReadTransaction) throws { try ShoppingWorkload().check(transaction) }
}

@Suite("A shopping list whose writes are too brief")
struct BriefShoppingListWorlds {
  /// Whether a text is another, in which each line `…` replaces some lines.
  private func isExcerpt(_ shown: String, of whole: String) -> Bool {
    var left = whole.split(separator: "\n")[...]
    var mayPass = false
    for line in shown.split(separator: "\n") {
      if line.allSatisfy({ $0 == " " || $0 == "…" }) {
        mayPass = true
        continue
      }
      guard let found = left.firstIndex(of: line), mayPass || found == left.startIndex else { return false }
      left = left[(found + 1)...]
      mayPass = false
    }
    return left.isEmpty
  }

  // Few worlds fail. The smallest of this one is short. After a change of the simulator it may be
  // another world: take another seed then, and put its trace on the page.
  private let seed: UInt64 = 51

  private var simulation: Simulation {
    var options = SimulationOptions(workloads: [BriefShoppingWorkload()])
    options.steps = 100
    // The checks after a world has come to rest test no rule of the app, and take most of the time.
    options.faults.subtract([.logImported, .peerThatLies, .storeCopied, .remoteDamaged, .remoteTakenBack])
    return Simulation(options)
  }

  @Test("breaks its rule in some world")
  func fails() {
    #expect(simulation.run(seed: seed).failure?.invariant == .workloadHolds)
  }

  @Test("shrinks to a few steps", .enabled(if: WideTests.areWanted, "`make test-wide` runs it"))
  func isFound() throws {
    // page
    let smallest = try #require(try simulation.shrink(seed: seed), "seed \(seed) does not fail")
    #expect(smallest.failure.invariant == .workloadHolds, "\(smallest)")
    // page end
    #expect(smallest.stepCount <= 12, "\(smallest)")
    let page = try ExamplesOfThePages.text(of: "StoreTesting.docc/TestingYourApp.md")
    let start = try #require(page.range(of: "\n```\nplan\n"))
    let end = try #require(page.range(of: "\n```\n", range: start.upperBound..<page.endIndex))
    let shown = "plan\n" + page[start.upperBound..<end.lowerBound]
    #expect(isExcerpt(shown, of: "\(smallest)"), "the page shows another trace than\n\(smallest)")
  }
}
