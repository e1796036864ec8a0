/// Checks that the entries of a page are packed end to end.
struct PagePacking {
  /// For each even place, how many bytes the entry has that begins there; 0 for none.
  private var sizes: [UInt16] = []
  private var places: [Int] = []

  mutating func clear() {
    for place in places { sizes[place] = 0 }
    places.removeAll(keepingCapacity: true)
  }

  /// Adds an entry that begins at an even place. LMDB rounds its size up to an even one.
  mutating func add(_ extent: Range<Int>) {
    let place = extent.lowerBound / 2
    if sizes.count <= place { sizes += [UInt16](repeating: 0, count: place + 1 - sizes.count) }
    sizes[place] = UInt16(clamping: (extent.count + 1) / 2 * 2)
    places.append(place)
  }

  /// Whether the entries fill a part of the page, and no two begin at one place.
  func isWhole(from lower: Int, to upper: Int) -> Bool {
    var (offset, count) = (lower, 0)
    while offset < upper, offset / 2 < sizes.count, sizes[offset / 2] > 0 {
      offset += Int(sizes[offset / 2])
      count += 1
    }
    return offset == upper && count == places.count
  }
}
