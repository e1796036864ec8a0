/// A set of page numbers below a bound, one bit each.
struct PageSet {
  private var words: [UInt64]
  private let count: UInt64

  init(count: UInt64) {
    self.count = count
    words = Array(repeating: 0, count: Int((count + 63) / 64))
  }

  /// Adds a page, and returns whether it was missing; false also beyond the bound.
  mutating func insert(_ page: UInt64) -> Bool {
    guard page < count else { return false }
    let bit: UInt64 = 1 << (page % 64)
    let isNew = words[Int(page / 64)] & bit == 0
    words[Int(page / 64)] |= bit
    return isNew
  }

  /// Whether the set has a page.
  func contains(_ page: UInt64) -> Bool {
    page < count && words[Int(page / 64)] & (1 << (page % 64)) != 0
  }
}
