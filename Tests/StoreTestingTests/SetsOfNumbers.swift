import Testing

@testable import StoreTesting

@Suite("Sets of numbers")
struct SetsOfNumbers {
  /// Around the ends of words.
  private let numbers = [0, 1, 62, 63, 64, 65, 127, 128, 129, 191, 192, 2000]

  private func subsets() -> [[Int]] {
    (0..<1 << numbers.count).lazy.filter { $0.nonzeroBitCount <= 3 }.map { mask in
      numbers.indices.filter { mask & 1 << $0 != 0 }.map { numbers[$0] }
    }
  }

  @Test("they have the inserted numbers in ascending order")
  func holdNumbers() {
    for subset in subsets() {
      let set = NumberSet(subset.reversed())
      #expect(set == NumberSet(subset))
      #expect(Array(set) == subset)
      #expect(set.count == subset.count && set.isEmpty == subset.isEmpty)
      for number in numbers { #expect(set.contains(number) == subset.contains(number)) }
    }
  }

  @Test("they compare like sets")
  func compare() {
    let all = subsets().map { (numbers: Set($0), set: NumberSet($0)) }
    for (index, a) in all.enumerated() {
      for b in all[index...] where (index + b.numbers.count).isMultiple(of: 7) {
        #expect((a.set == b.set) == (a.numbers == b.numbers))
        #expect(a.set.isSuperset(of: b.set) == a.numbers.isSuperset(of: b.numbers))
        #expect(b.set.isSuperset(of: a.set) == b.numbers.isSuperset(of: a.numbers))
        #expect(a.set.isDisjoint(with: b.set) == a.numbers.isDisjoint(with: b.numbers))
        var union = a.set
        union.formUnion(b.set)
        #expect(union == NumberSet(a.numbers.union(b.numbers)))
      }
    }
  }

  @Test("the set of all numbers below a count")
  func below() {
    for count in [0, 1, 63, 64, 65, 128, 130, 1000] {
      #expect(NumberSet(below: count) == NumberSet(0..<count))
    }
  }

  @Test("their stable hash distinguishes them, and is the same in every process")
  func stableHash() {
    let all = subsets()
    #expect(Set(all.map { NumberSet($0).stableHash }).count == all.count)
    #expect(NumberSet([1, 2, 64]).stableHash == 7_531_837_625_420_325_686)
  }
}
