/// What became of records that others refer to, as far as it was found out: a cache of bounded size.
///
/// A chain of cascades may be longer than the cache. Then it keeps the records at the beginning of the chain, which a scan asks
/// for next, and of the others every so many: who begins in between soon comes to one.
struct RecordFates {
  /// A record by its name's UTF-8.
  struct RecordKey: Hashable {
    var state: StateNumber
    var name: [UInt8]
  }

  enum Fate {
    case there
    /// It is not alive, or hidden; with the record that is not alive, to which cascades lead from it.
    case gone(missing: [UInt8])
  }

  /// Memory for about 10 MB of names.
  static let countMax = 65_536

  private let countMax: Int
  private var near: [RecordKey: Fate] = [:]
  private var milestones: [RecordKey: Fate] = [:]

  init(countMax: Int = RecordFates.countMax) { self.countMax = countMax }

  var count: Int { near.count + milestones.count }

  subscript(key: RecordKey) -> Fate? { near[key] ?? milestones[key] }

  /// Keeps what became of some records that were met one after the other.
  mutating func remember(_ fate: Fate, of names: [[UInt8]], _ state: StateNumber) {
    let nearCount = min(names.count, countMax / 4)
    if near.count + nearCount > countMax / 2 { near.removeAll(keepingCapacity: true) }
    for name in names[..<nearCount] { near[RecordKey(state: state, name: name)] = fate }
    let rest = names[nearCount...]
    guard !rest.isEmpty else { return }
    let step = rest.count / (countMax / 4) + 1
    if milestones.count + rest.count / step + 1 > countMax / 2 { milestones.removeAll(keepingCapacity: true) }
    for index in stride(from: rest.startIndex, to: rest.endIndex, by: step) {
      milestones[RecordKey(state: state, name: rest[index])] = fate
    }
  }
}
