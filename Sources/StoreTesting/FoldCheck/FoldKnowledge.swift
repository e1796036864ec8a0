import EventStore

/// What one store knows of the offsets of transactions in the remote log, and when they were received.
final class FoldKnowledge {
  let history: FoldHistory
  let numbering: FoldNumbering
  /// The first known offset of each transaction; 0 for none.
  var places: [Int]
  /// The first known time of receipt of each transaction, in milliseconds since 1970; `Int64.max` for none.
  var received: [Int64]
  /// The offset up to which everything has its place.
  var placedThrough = 0
  /// The cells that had more than four heads when they were last compared, by the oracle's numbers.
  var wideCells = Set<Int>()

  init(_ history: FoldHistory, _ numbering: FoldNumbering) {
    self.history = history
    self.numbering = numbering
    places = []
    received = []
  }

  init(copying other: FoldKnowledge) {
    history = other.history
    numbering = other.numbering
    places = other.places
    received = other.received
    placedThrough = other.placedThrough
  }

  /// Makes room for all transactions of the history.
  func grow() {
    while places.count < history.transactions.count {
      places.append(0)
      received.append(.max)
    }
  }

  /// An empty storage that looks places up here.
  func makeStorage(tiesByNumber: Bool = false) -> MemoryFoldStorage {
    var identities = numbering.ordered(history.identities)
    if tiesByNumber { identities.sort() }
    return MemoryFoldStorage(
      replicas: identities, runs: { [self] in run(at: $0) }, placed: { [self] in UInt64(placedThrough) },
      places: { [self] replica, epoch, sequence, _, _ in offset(of: replica, epoch, sequence) })
  }

  private func run(at offset: UInt64) -> PlacedRun {
    let segment = history.segments[Int(offset) - 1]
    let lane = history.lanes[segment.lane]
    let before = history.sequencesBefore
    return PlacedRun(
      replica: numbering.number(ofIdentity: lane.identity), epoch: lane.epoch,
      sequences: before + UInt64(segment.sequences.lowerBound)...before + UInt64(segment.sequences.upperBound)
    )
  }

  private func offset(of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64) -> UInt64? {
    let identity = numbering.identity(of: replica)
    guard sequence > history.sequencesBefore else { return nil }
    let sequence = sequence - history.sequencesBefore
    for lane in history.lanes where lane.identity == identity && lane.epoch == epoch {
      guard sequence <= lane.transactions.count else { return nil }
      let place = places[lane.transactions[Int(sequence) - 1]]
      return place > 0 ? UInt64(place) : nil
    }
    return nil
  }
}
