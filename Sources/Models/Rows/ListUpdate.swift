public import EventStore

/// The rows of a list as they are now, and what is another since the last update: in the form that views of
/// lists take.
public struct ListUpdate<Element: Identifiable & Equatable & Sendable>: Sendable where Element.ID: Sendable {
  /// The rows now, in their order.
  public let rows: [Element]
  /// The places of those that are gone, in the order before, ascending.
  public let removed: [Int]
  /// The places of new ones in ``rows``, ascending.
  public let inserted: [Int]
  /// Those that others have passed: from a place in the order before, to one in ``rows``, ascending. They are as
  /// few as can be.
  public let moved: [(from: Int, to: Int)]
  /// The places in ``rows`` of those that show something else, ascending.
  public let updated: [Int]
  /// Who made the commits that came since the last update: where several came at one time, of all of them. Empty in the
  /// first update.
  public let origins: Commit.Origins

  /// Whether nothing is another.
  public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }

  /// - Complexity: O(n log n) in the rows.
  init(from old: [Element], to new: [Element], _ origins: Commit.Origins) {
    (rows, self.origins) = (new, origins)
    let before = Dictionary(old.indices.map { (old[$0].id, $0) }) { first, _ in first }
    let places = new.map { before[$0.id] }
    let stay = Set(places.compactMap(\.self))
    removed = old.indices.filter { !stay.contains($0) }
    inserted = new.indices.filter { places[$0] == nil }
    updated = new.indices.filter { index in places[index].map { old[$0] != new[index] } ?? false }
    let kept = new.indices.filter { places[$0] != nil }
    let unmoved = Set(Self.longestRise(kept.map { places[$0]! }).map { kept[$0] })
    moved = kept.filter { !unmoved.contains($0) }.map { (places[$0]!, $0) }
  }

  /// The places of a longest ascending part of different numbers (Fredman: On computing the length of longest
  /// increasing subsequences, 1975).
  private static func longestRise(_ numbers: [Int]) -> [Int] {
    // Of each length, the place of the least last number of a part; and for each place the one before it.
    var ends: [Int] = []
    var previous = [Int?](repeating: nil, count: numbers.count)
    for (place, number) in numbers.enumerated() {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
      }
      previous[place] = low > 0 ? ends[low - 1] : nil
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    var (rise, place): ([Int], Int?) = ([], ends.last)
    while let one = place {
      rise.append(one)
      place = previous[one]
    }
    return rise.reversed()
  }
}
