import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Sequences whose operations arrive in every order")
struct SequencesInEveryOrder {
  /// Calls a closure with each history of some operations: for any writers, whatever each has seen, and
  /// wherever it inserts or hides.
  private func forEachHistory(
    writers: Int, operations: Int, hides: Bool, _ body: (UnitOrderHistory) throws -> Void
  ) throws {
    var history = UnitOrderHistory(writers: writers)
    // What each writer has seen: for each writer, the number of operations.
    func extend(_ seen: [[Int]]) throws {
      if history.operations.count == operations { return try body(history) }
      // Writers differ only by their identities, so one choice of the next new writer is enough.
      let met = history.operations.map { Int($0.id.replica.rawValue) }
      for writer in 1...min(writers, (met.max() ?? 0) + 1) {
        for view in views(writer, from: seen[writer - 1], history) {
          let known = Set(
            history.operations.indices.filter {
              history.operations[$0].id.sequence <= view[Int(history.operations[$0].id.replica.rawValue) - 1]
            })
          let model = history.model(known.sorted())
          var actions = ([nil] + model.listing.map { $0 }).map {
            UnitOrderHistory.Action.insert(text: history.operations.count == 1 ? "ab" : "c", after: $0)
          }
          if hides {
            actions += model.visible.map { .set(isVisible: false, [UnitRange(first: $0, count: 1)]) }
          }
          for action in actions {
            history.add(action, by: writer, seen: known)
            var next = seen
            next[writer - 1] = view
            next[writer - 1][writer - 1] += 1
            try extend(next)
            history.removeLast()
          }
        }
      }
    }
    try extend([[Int]](repeating: [Int](repeating: 0, count: writers), count: writers))
  }

  /// What a writer may have seen at its next operation: what it has seen before, more of the others'
  /// operations, and what those had seen.
  private func views(_ writer: Int, from seen: [Int], _ history: UnitOrderHistory) -> Set<[Int]> {
    var views: Set<[Int]> = [seen]
    for operation in history.operations {
      for var view in views {
        let replica = Int(operation.id.replica.rawValue) - 1
        view[replica] = max(view[replica], Int(operation.id.sequence))
        for index in operation.seen {
          let id = history.operations[index].id
          view[Int(id.replica.rawValue) - 1] = max(view[Int(id.replica.rawValue) - 1], Int(id.sequence))
        }
        views.insert(view)
      }
    }
    return views
  }

  private func check(_ history: UnitOrderHistory) throws {
    let expected = history.model(Array(history.operations.indices)).runs
    for order in history.orders {
      let sequence = try history.folded(order, nodeBytesMax: 64)
      let runs = try sequence.runs
      guard runs == expected else {
        Issue.record("\(history.operations) folded in the order \(order): \(runs), not \(expected)")
        return
      }
      let model = history.model(order).runs
      #expect(model == expected)
    }
  }

  @Test("equal the tree: two writers", arguments: 1...4)
  func twoWriters(_ operations: Int) throws {
    var count = 0
    // Very many histories have four operations.
    let step = operations == 4 ? WideTests.choose(1, otherwise: 5) : 1
    try forEachHistory(writers: 2, operations: operations, hides: true) { history in
      count += 1
      guard count.isMultiple(of: step) else { return }
      try check(history)
      var swapped = history
      swapped.identities.reverse()
      try check(swapped)
    }
    #expect(count >= operations)
  }

  @Test("equal the tree: three writers", .enabled(if: WideTests.areWanted, "`make test-wide` runs it"))
  func threeWriters() throws {
    var count = 0
    try forEachHistory(writers: 3, operations: 4, hides: false) { history in
      count += 1
      for identities in [[1, 2, 3], [2, 3, 1], [3, 2, 1], [1, 3, 2], [2, 1, 3], [3, 1, 2]] {
        var named = history
        named.identities = identities.map { ReplicaID(rawValue: UInt128($0)) }
        try check(named)
      }
    }
    #expect(count > 100)
  }
}
