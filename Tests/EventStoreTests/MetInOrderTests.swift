import Testing

@testable import EventStore

@Suite("Many zones in one read")
struct MetInOrderTests {
  private final class Counter { var comparisons = 0 }

  private struct Key: Hashable {
    var number: Int
    let counter: Counter

    static func == (a: Self, b: Self) -> Bool {
      a.counter.comparisons += 1
      return a.number == b.number
    }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  @Test(
    "each is found at its index, with as many comparisons among 20,000 as among 1,000",
    arguments: [1000, 20_000])
  func comparisons(count: Int) {
    let counter = Counter()
    var met = MetInOrder<Key, Int>()
    for number in 0..<count {
      let key = Key(number: number, counter: counter)
      #expect(met.index(of: key) == nil)
      #expect(met.append(key, 2 * number) == number)
      #expect(met.index(of: key) == number)
    }
    for number in [0, 1, 7, 8, 9, count - 1] {
      let found = met.index(of: Key(number: number, counter: counter))
      #expect(found == number)
      #expect(found.map { met.entries[$0].value } == 2 * number)
    }
    #expect(met.index(of: Key(number: count, counter: counter)) == nil)
    // The last one looked up, and those with close hashes; without the hash, hundreds for each.
    #expect(counter.comparisons <= 64 * count)
  }

  @Test("a few are found without a hash, and keep their index when more are added")
  func few() {
    for count in 0...20 {
      var met = MetInOrder<Int, Int>()
      for key in 0..<count { #expect(met.append(key, -key) == key) }
      for key in (0..<count).reversed() { #expect(met.index(of: key) == key) }
      #expect(met.index(of: count) == nil)
      #expect(met.entries.map(\.value) == (0..<count).map { -$0 })
    }
  }
}
