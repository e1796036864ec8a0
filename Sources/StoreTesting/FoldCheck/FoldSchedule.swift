import OperationFormat

/// A whole sequence: the replicas, their records, and what happens, step by step.
///
/// After the last step all replicas ship and fetch until nothing moves.
package struct FoldSchedule: Hashable, Sendable {
  /// How many replicas there are at the start.
  var replicas: Int
  /// How many records there are.
  var records: Int
  /// How many fields each record has.
  var fields: Int
  /// The seed of the replicas' identities and of the random orders.
  var seed: UInt64
  /// What happens.
  package var steps: [FoldStep]

  /// The most replicas that a schedule may have, copies included.
  static let replicasMax = 8
  /// The most transactions of a schedule: each is one bit of a 64-bit number.
  package static let transactionsMax = 64

  /// Creates a schedule.
  package init(replicas: Int, records: Int, fields: Int, seed: UInt64, steps: [FoldStep] = []) {
    precondition((1...Self.replicasMax).contains(replicas), "a schedule cannot have \(replicas) replicas")
    precondition((1...3).contains(records) && (1...3).contains(fields), "1 to 3 records and fields")
    self.replicas = replicas
    self.records = records
    self.fields = fields
    self.seed = seed
    self.steps = steps
  }

  /// The 128-bit identities, by number: distinct, unordered, and some differ only in a few bits.
  func makeIdentities() -> [ReplicaID] {
    var random = SeededRandom(seed: seed).stream(1)
    var identities: [ReplicaID] = []
    let shared = random.next()
    while identities.count < FoldNumbering.identitiesMax {
      let (high, low): (UInt64, UInt64) =
        switch random.next(below: 4) {
        case 0: (0, UInt64(random.next(below: 256)))
        case 1: (shared, UInt64(random.next(below: 256)))
        case 2: (UInt64(random.next(below: 256)), shared)
        default: (random.next(), random.next())
        }
      let identity = ReplicaID(rawValue: UInt128(high) << 64 | UInt128(low))
      if !identities.contains(identity) { identities.append(identity) }
    }
    return identities
  }
}
