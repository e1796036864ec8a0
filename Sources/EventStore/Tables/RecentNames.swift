import OperationFormat

/// The numbers of recently used names, for one thread. It compares memory, not hashes: a repeated name is
/// most often the same text in the same memory. A miss says nothing.
struct RecentNames {
  private var entries: [(name: Name, number: NameNumber)] = []
  private static let countMax = 32

  @inline(__always)
  func number(of name: Name) -> NameNumber? {
    var index = 0
    while index < entries.count {
      if entries[index].name.rawValue.hasSameRepresentation(as: name.rawValue) {
        return entries[index].number
      }
      index += 1
    }
    return nil
  }

  func name(of number: NameNumber) -> Name? {
    for entry in entries where entry.number == number { return entry.name }
    return nil
  }

  mutating func remember(_ name: Name, _ number: NameNumber) {
    if entries.count == Self.countMax { removeAll() }
    entries.append((name, number))
  }

  mutating func removeAll() { entries.removeAll(keepingCapacity: true) }
}
