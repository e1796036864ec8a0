/// A bounded cache of the existence of records that others refer to.
///
/// A chain of cascades may be longer than the cache. Then it keeps the records at the beginning of the chain,
/// which a scan needs next, and every n-th of the others, so that a search that begins between two of them
/// soon reaches one.
struct RecordFates {
  /// A record by its name's UTF-8.
  struct RecordKey: Hashable {
    var state: StateNumber
    var name: [UInt8]
  }

  enum Fate {
    case there
    /// It is not alive, or hidden. Cascades and moves lead from it to a missing record, which may be itself.
    case gone(missing: RecordKey)
  }

  /// About 10 MB of names.
  static let countMax = 65_536

  private let countMax: Int
  private var near: [RecordKey: Fate] = [:]
  private var milestones: [RecordKey: Fate] = [:]

  init(countMax: Int = RecordFates.countMax) { self.countMax = countMax }

  var count: Int { near.count + milestones.count }

  subscript(key: RecordKey) -> Fate? { near[key] ?? milestones[key] }

  /// Caches one fate for the records of a chain, in its order.
  mutating func remember(_ fate: Fate, of chain: [RecordKey]) {
    let nearCount = min(chain.count, countMax / 4)
    if near.count + nearCount > countMax / 2 { near.removeAll(keepingCapacity: true) }
    for key in chain[..<nearCount] { near[key] = fate }
    let rest = chain[nearCount...]
    guard !rest.isEmpty else { return }
    let step = rest.count / (countMax / 4) + 1
    if milestones.count + rest.count / step + 1 > countMax / 2 { milestones.removeAll(keepingCapacity: true) }
    for index in stride(from: rest.startIndex, to: rest.endIndex, by: step) {
      milestones[rest[index]] = fate
    }
  }
}
