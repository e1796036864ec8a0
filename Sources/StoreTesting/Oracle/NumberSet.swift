/// The numbers of some transactions of an ``Oracle``.
typealias TransactionSet = NumberSet

/// A set of numbers from 0, one bit each. Its size depends on its greatest number.
///
/// Sets of numbers below 64 allocate nothing, and a copy costs at most a reference.
struct NumberSet: Hashable, Sendable {
  /// The numbers 0 to 63.
  private var first: UInt64
  /// Those from 64 on, 64 a word. The last word is never 0, so that equal sets have equal words.
  private var rest: [UInt64] = []

  /// Creates an empty set.
  init() { first = 0 }

  /// Creates the set of the numbers whose bits are set.
  init(bits: UInt64) { first = bits }

  /// Creates the set of all numbers below `count`.
  init(below count: Int) {
    first = Self.mask(below: count)
    for start in stride(from: 64, to: count, by: 64) { rest.append(Self.mask(below: count - start)) }
  }

  /// Creates a set of some numbers.
  init(_ numbers: some Sequence<Int>) {
    self.init()
    for number in numbers { insert(number) }
  }

  // MARK: Verbs

  /// Adds a number, which must not be negative.
  mutating func insert(_ number: Int) {
    if number < 64 {
      first |= 1 << UInt64(number)
    } else {
      let word = number >> 6 - 1
      while rest.count <= word { rest.append(0) }
      rest[word] |= 1 << UInt64(number & 63)
    }
  }

  /// Adds all numbers of another set.
  mutating func formUnion(_ other: NumberSet) {
    first |= other.first
    while rest.count < other.rest.count { rest.append(0) }
    for (word, bits) in other.rest.enumerated() { rest[word] |= bits }
  }

  // MARK: Questions

  /// Whether a number is in the set.
  func contains(_ number: Int) -> Bool {
    if number < 64 { return first & 1 << UInt64(number) != 0 }
    let word = number >> 6 - 1
    return word < rest.count && rest[word] & 1 << UInt64(number & 63) != 0
  }

  /// Whether all numbers of another set are in this one.
  func isSuperset(of other: NumberSet) -> Bool {
    guard other.first & ~first == 0, other.rest.count <= rest.count else { return false }
    for (word, bits) in other.rest.enumerated() where bits & ~rest[word] != 0 { return false }
    return true
  }

  /// Whether no number is in both sets.
  func isDisjoint(with other: NumberSet) -> Bool {
    guard first & other.first == 0 else { return false }
    // From the greatest numbers down, where a common number is most likely: later transactions replace
    // earlier ones, and stores have most of them.
    var word = Swift.min(rest.count, other.rest.count)
    while word > 0 {
      word -= 1
      if rest[word] & other.rest[word] != 0 { return false }
    }
    return true
  }

  /// Whether there is no number in the set.
  var isEmpty: Bool { first == 0 && rest.isEmpty }

  /// How many numbers there are.
  var count: Int { rest.reduce(first.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  /// A number that equal sets share in every process, whatever its hash seed: FNV-1a over the words.
  var stableHash: UInt64 {
    rest.reduce(Self.hash(0xcbf2_9ce4_8422_2325, first), Self.hash)
  }

  private static func hash(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    // FNV is made for bytes. With whole words, the upper half must be mixed into the lower one.
    let mixed = (hash ^ word) &* 0x0000_0100_0000_01b3
    return mixed ^ (mixed >> 32)
  }

  private static func mask(below count: Int) -> UInt64 {
    count >= 64 ? .max : (1 << UInt64(count)) - 1
  }
}

extension NumberSet: Sequence {
  /// Gives the numbers in ascending order.
  struct Iterator: IteratorProtocol {
    private let rest: [UInt64]
    private var bits: UInt64
    /// How many words were begun.
    private var words = 1

    fileprivate init(_ first: UInt64, _ rest: [UInt64]) {
      bits = first
      self.rest = rest
    }

    mutating func next() -> Int? {
      while bits == 0 {
        guard words <= rest.count else { return nil }
        bits = rest[words - 1]
        words += 1
      }
      defer { bits &= bits - 1 }
      return (words - 1) << 6 + bits.trailingZeroBitCount
    }
  }

  func makeIterator() -> Iterator { Iterator(first, rest) }
}

extension NumberSet: CustomStringConvertible {
  /// Such as “{0, 2, 3}”.
  var description: String { "{\(map(String.init).joined(separator: ", "))}" }
}
