import EventStore
import Stores

/// The cost of one change of a field with many elements, or of a long text.
extension Case {
  /// A store with one record, each of whose fields has `count` elements.
  private final class Wide {
    static let record = RecordID(zone: Dataset.zone, name: "wide")
    let store: LocalStore
    let count: Int
    /// Adds up the contributions.
    let sum = ContributionReducer(of: "contributions", initial: 0) { (sum: inout Int64, contribution) in
      if case .int(let number) = contribution.payload { sum &+= number }
    }

    /// - Parameters:
    ///   - count: how many elements each field has.
    ///   - registers: how many additional registers of 1,000 bytes the record has.
    init(_ directory: String, count: Int, registers: Int = 0) async throws {
      self.count = count
      store = try LocalStore(directory: directory, durability: .consistent)
      try await store.write { tx in
        try tx.createZone(Dataset.zone)
        try tx.create(Self.record, type: "wide")
        for number in 0..<registers {
          try tx.set(
            Name("register\(number)"), of: Self.record, to: .string(String(repeating: "r", count: 1000)))
        }
      }
      // Inserted at random places, so that no run has more than one element.
      var random = SplitMix(state: 7)
      for start in stride(from: 0, to: count, by: 500) {
        let numbers = start..<min(count, start + 500)
        let places = numbers.map { Int(random.next() % UInt64($0 + 1)) }
        try await store.write { tx in
          for (number, place) in zip(numbers, places) {
            let value = Value.int(Int64(number))
            try tx.insert(value, into: "set", of: Self.record)
            try tx.put(value, at: Name("\(number)"), in: "map", of: Self.record)
            try tx.insertElements([value], at: place, in: "list", of: Self.record)
            try tx.insertText("x", at: place, in: "text", of: Self.record)
            try tx.contribute(value, to: "contributions", of: Self.record)
          }
        }
      }
      _ = try total()
    }

    deinit { store.close() }

    /// The sum of the contributions, from the reducer's cache.
    func total() throws -> Int64 { try store.read { try sum.result(of: Self.record, in: $0) } ?? 0 }
  }

  /// One change of a field. It leaves the number of elements as it was, except for contributions.
  private typealias Change = @Sendable (inout WriteTransaction, _ number: UInt64, _ count: Int) throws -> Void

  static var elements: Case {
    Case(title: "fields grow to 100,000 elements") { place, sizes in
      let small = try await Wide(place.path + "/few", count: 1000)
      let large = try await Wide(place.path + "/many", count: sizes.count(100_000))
      let beside = try await Wide(place.path + "/beside", count: 1000, registers: 50)
      let record = Wide.record
      let changes: [(name: String, body: Change)] = [
        (
          "a set",
          { tx, number, count in
            try tx.insert(.int(Int64(number % UInt64(count))), into: "set", of: record)
          }
        ),
        (
          "a map",
          { tx, number, count in
            try tx.put(
              .int(Int64(number % 1000)), at: Name("\(number % UInt64(count))"), in: "map", of: record)
          }
        ),
        (
          "a list: an element moves",
          { tx, number, count in
            let (source, target) = (Int(number % UInt64(count)), Int((number >> 20) % UInt64(count)))
            try tx.moveElement(from: source, to: target, in: "list", of: record)
          }
        ),
        (
          "a list: an element gets another value",
          { tx, number, count in
            try tx.replaceElement(
              at: Int(number % UInt64(count)), in: "list", of: record, with: .int(Int64(number % 1000)))
          }
        ),
        (
          "a text",
          { tx, number, count in
            let place = Int(number % UInt64(count))
            try tx.removeText(place..<place + 1, from: "text", of: record)
            try tx.insertText("y", at: place, in: "text", of: record)
          }
        ),
        (
          "contributions, and a read of their sum",
          { tx, number, count in
            try tx.contribute(.int(Int64(number % UInt64(count))), to: "contributions", of: record)
          }
        ),
      ]
      func comparison(
        _ change: (name: String, body: Change), _ measured: Wide, _ title: String, otherwise: String
      ) -> Comparison {
        let count = sizes.count(5000)
        let readsTotal = change.name.hasPrefix("contributions")
        func participant(_ name: Participant.Name, _ wide: Wide) -> Participant {
          var random = SplitMix(state: 11)
          return Participant(
            name: name, prepare: {},
            turn: {
              let elements = wide.count
              for _ in 0..<count {
                let number = random.next()
                try wide.store.writeBlockingThisThread { try change.body(&$0, number, elements) }
                if readsTotal { _ = try wide.total() }
              }
            }, finish: { [:] })
        }
        return Comparison(
          title: "one change a commit of \(change.name), \(title)", measure: .time, unit: "changes",
          aims: [Comparison.Aim(than: .other, ratio: 2)], otherwise: otherwise, count: count,
          participants: [participant(.tributary, measured), participant(.other, small)])
      }
      return changes.map { comparison($0, large, "10⁵ elements", otherwise: "10³") } + [
        comparison(changes[0], beside, "beside 50 registers of 1,000 bytes", otherwise: "beside none")
      ]
    }
  }
}
