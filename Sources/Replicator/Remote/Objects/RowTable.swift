/// Finds rows by a key of 128 bits: an open-addressed table of row numbers. The rows, and their keys, are
/// elsewhere, so that a row costs 5 to 11 bytes here. A key is never removed.
///
/// Others choose the keys, so the place of a key depends on a seed of the process: nobody can prepare keys
/// whose places collide.
struct RowTable: Sendable {
  /// The most rows: their numbers have 32 bits.
  static let rowsMax = Int(Int32.max)
  private static let slotsMin = 16

  /// The number of a row plus one; 0 where there is none. Their count is a power of two, or 0.
  private var slots: [UInt32] = []
  private(set) var count = 0
  private let hash: @Sendable (UInt128) -> Int

  /// - Parameter hash: gives the place of a key.
  init(hash: @escaping @Sendable (UInt128) -> Int = Self.seededHash) { self.hash = hash }

  /// The place of a key: another one in each process. No order and no answer depends on it.
  @Sendable static func seededHash(_ key: UInt128) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return hasher.finalize()
  }

  /// The bytes that the table holds.
  var heldBytes: Int { slots.capacity * MemoryLayout<UInt32>.stride }

  /// The row of a key; nil if there is none.
  ///
  /// - Parameter keys: the key of each row.
  func row(of key: UInt128, in keys: [UInt128]) -> Int? {
    guard !slots.isEmpty else { return nil }
    let slot = slots[self.slot(of: key, in: keys)]
    return slot == 0 ? nil : Int(slot) - 1
  }

  /// Sets the row of a key.
  ///
  /// - Parameter keys: the key of each row, also of this one.
  /// - Complexity: amortized O(1)
  mutating func set(_ key: UInt128, to row: Int, in keys: [UInt128]) {
    precondition(row < Self.rowsMax, "there are more rows than numbers")
    if (count + 1) * 4 > slots.count * 3 { grow(keys) }
    let slot = slot(of: key, in: keys)
    if slots[slot] == 0 { count += 1 }
    slots[slot] = UInt32(row) + 1
  }

  /// The slot that has a key, or the free one in which it belongs.
  private func slot(of key: UInt128, in keys: [UInt128]) -> Int {
    var slot = hash(key) & (slots.count - 1)
    while slots[slot] != 0, keys[Int(slots[slot]) - 1] != key { slot = (slot + 1) & (slots.count - 1) }
    return slot
  }

  private mutating func grow(_ keys: [UInt128]) {
    let before = slots
    slots = [UInt32](repeating: 0, count: max(Self.slotsMin, before.count * 2))
    for number in before where number != 0 {
      slots[slot(of: keys[Int(number) - 1], in: keys)] = number
    }
  }
}
