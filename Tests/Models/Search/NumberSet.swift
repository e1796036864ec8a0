/// A set of numbers below 32: of transactions or replicas.
struct NumberSet: Hashable {
  private var bits: UInt32 = 0

  init(_ numbers: [Int] = []) { for number in numbers { insert(number) } }

  mutating func insert(_ number: Int) { bits |= 1 << UInt32(number) }
  mutating func formUnion(_ other: NumberSet) { bits |= other.bits }
  func contains(_ number: Int) -> Bool { bits & 1 << UInt32(number) != 0 }
  func isSubset(of other: NumberSet) -> Bool { bits & ~other.bits == 0 }

  /// The numbers, ascending.
  var numbers: [Int] { (0..<32).filter(contains) }
}
