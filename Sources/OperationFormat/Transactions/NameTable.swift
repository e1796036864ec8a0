/// A set of byte strings that are stored elsewhere. Each has a number: the order of insertion.
///
/// It uses open addressing with linear probing over a power of two of slots, at most half of them in use. The
/// hash has a random seed in each process, so that nobody can prepare names that collide. Emptying it is
/// O(1). Once it has grown, it allocates nothing.
struct NameTable: Sendable {
  // Each slot has the round in which it was taken, in the upper half, and a number in the lower. A slot of
  // another round is free.
  private var slots: [UInt64] = []
  private var hashes: [Int] = []
  private var round: UInt32 = 1

  /// How many byte strings there are.
  var count: Int { hashes.count }

  mutating func removeAll() {
    hashes.removeAll(keepingCapacity: true)
    let (next, isUsedUp) = round.addingReportingOverflow(1)
    if isUsedUp { slots = [UInt64](repeating: 0, count: slots.count) }
    round = isUsedUp ? 1 : next
  }

  /// A search for one byte string.
  struct Search {
    fileprivate let hash: Int
    fileprivate var index: Int
  }

  /// Begins the search for a byte string with this hash; makes space for its insertion.
  mutating func search(hash: Int) -> Search {
    if 2 * (hashes.count + 1) > slots.count { grow() }
    return Search(hash: hash, index: hash & (slots.count - 1))
  }

  /// Returns the number of the next candidate; nil if the byte string is not in the table.
  func next(_ search: inout Search) -> Int? {
    while let number = number(in: slots[search.index]) {
      search.index = (search.index + 1) & (slots.count - 1)
      if hashes[number] == search.hash { return number }
    }
    return nil
  }

  /// Inserts the byte string of a search that found nothing, with the next number.
  mutating func insert(_ search: Search) {
    slots[search.index] = slot(hashes.count)
    hashes.append(search.hash)
  }

  /// The hash of a byte string: multiplies 8 bytes at a time into a secret (the folded multiplication of
  /// wyhash). The standard library's hash took a third of the time of building a body.
  func hash(of bytes: RawSpan) -> Int {
    var state = Self.fold(seed ^ UInt64(bytes.byteCount))
    var offset = 0
    while offset &+ 8 <= bytes.byteCount {
      state = Self.fold(state ^ bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset &+= 8
    }
    var tail: UInt64 = 0
    while offset < bytes.byteCount {
      tail = tail << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      offset &+= 1
    }
    return Int(truncatingIfNeeded: Self.fold(state ^ tail))
  }

  @inline(__always)
  private static func fold(_ number: UInt64) -> UInt64 {
    let product = number.multipliedFullWidth(by: 0xa076_1d64_78bd_642f)
    return product.high ^ product.low
  }

  // The hash of nothing depends only on the standard library's seed, which is random in each process.
  private let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

  private func slot(_ number: Int) -> UInt64 { UInt64(round) << 32 | UInt64(number) }

  private func number(in slot: UInt64) -> Int? {
    slot >> 32 == UInt64(round) ? Int(slot & 0xffff_ffff) : nil
  }

  private mutating func grow() {
    slots = [UInt64](repeating: 0, count: max(32, 2 * slots.count))
    for (number, hash) in hashes.enumerated() {
      var index = hash & (slots.count - 1)
      while slots[index] != 0 { index = (index + 1) & (slots.count - 1) }
      slots[index] = slot(number)
    }
  }
}
