import EventStore
import OperationFormat

/// What is true of one incarnation of a zone: every transaction that was made, and the remote log.
final class ZoneFacts {
  let zone: ZoneID
  /// Nil while the zone is local to a device.
  let incarnation: IncarnationID?
  private(set) var model: ZoneModel
  /// The canonical bytes of each transaction, by its number.
  private(set) var bytes: [[UInt8]] = []
  /// The remote log; that of offset n is at n − 1.
  private(set) var segments: [SegmentFacts] = []
  /// The log's chain at the last segment.
  private(set) var chain: LogChain
  /// Each writer's part of the remote log.
  private var writers: [Writer] = []
  /// Whether a device's app deleted it.
  var isDeletionAsked = false
  /// Whether the remote log takes no more.
  var isClosed = false
  /// How many segments had their receive times checked.
  var entriesTimed = 0
  /// Digests that were seen, by what had been folded.
  var digests: [UInt64: ContentHash] = [:]

  struct SegmentFacts {
    var numbers: [Int]
    var hash: ContentHash
    /// By the remote's clock; nil where it has none.
    var receivedMilliseconds: UInt64?
    /// The same, whose it is, and when its newest change was made.
    var entry: NaiveReceiveTime.Entry
    /// Whether an older version cannot read it.
    var isNewer: Bool
  }

  private struct Writer {
    var replica: ReplicaID
    var epoch: UInt32
    var lastSequence: UInt64
    var lastHash: ContentHash
  }

  init(_ zone: ZoneID, _ incarnation: IncarnationID?) {
    self.zone = zone
    self.incarnation = incarnation
    model = ZoneModel(zone: zone)
    chain = .start(of: incarnation ?? IncarnationID(rawValue: 0))
  }

  /// Adds a transaction that some store made, and returns its number.
  func add(_ transaction: LogTransaction, bytes: [UInt8]) throws -> Int {
    do {
      let number = try model.append(transaction)
      self.bytes.append(bytes)
      return number
    } catch {
      throw SimulationFailure(.sequencesAreGapless, "zone \(zone): \(error)")
    }
  }

  /// Adds a segment that was appended to the remote log.
  func append(
    _ header: SegmentHeader, _ transactions: [[UInt8]], receivedMilliseconds: UInt64?, _ stated: LogChain?
  ) throws {
    let offset = segments.count + 1
    let place = "the segment at offset \(offset) of \(zone)"
    var numbers: [Int] = []
    for (index, found) in transactions.enumerated() {
      let id = TransactionID(
        replica: header.replica, epoch: header.epoch,
        sequence: header.sequences.lowerBound + UInt64(index))
      guard let number = model.number(of: id) else {
        throw SimulationFailure(.sequencesAreGapless, "\(place) has \(id), which nobody made")
      }
      guard bytes[number] == found else {
        throw SimulationFailure(.unknownIsKept, "\(place) has other bytes for \(id) than its maker")
      }
      model.place(number, at: UInt64(offset), in: header.incarnation)
      numbers.append(number)
    }
    try chain(header, place)
    chain = LogChain(header.statement.hash, at: UInt64(offset), after: chain)
    guard stated == chain else {
      throw SimulationFailure(
        .sequencesAreGapless, "\(place) has another chain than follows from the log before it")
    }
    segments.append(
      SegmentFacts(
        numbers: numbers, hash: header.contentHash, receivedMilliseconds: receivedMilliseconds,
        entry: NaiveReceiveTime.Entry(
          replica: header.replica, newest: Int64(header.timestamps.upperBound.milliseconds),
          received: receivedMilliseconds.map { Int64($0) }),
        isNewer: false))
  }

  /// The last sequence of a writer at the remote, and the hash of its last segment.
  func last(of replica: ReplicaID, _ epoch: UInt32) -> (sequence: UInt64, hash: ContentHash) {
    let writer = writers.first { $0.replica == replica && $0.epoch == epoch }
    return (writer?.lastSequence ?? 0, writer?.lastHash ?? .zero)
  }

  func markLastAsNewer() { segments[segments.count - 1].isNewer = true }

  /// A writer's sequences have no gap, and each segment names the one before it.
  private func chain(_ header: SegmentHeader, _ place: String) throws {
    let index = writers.firstIndex { $0.replica == header.replica && $0.epoch == header.epoch }
    let last = index.map { writers[$0] }
    // Where its writer could not read the first, damaged on its way, it is there twice. The second may come
    // late.
    if last != nil, segments.contains(where: { $0.hash == header.contentHash }) { return }
    guard header.sequences.lowerBound == (last?.lastSequence ?? 0) + 1 else {
      throw SimulationFailure(
        .sequencesAreGapless,
        "\(place) begins with sequence \(header.sequences.lowerBound) after \(last?.lastSequence ?? 0)")
    }
    guard header.previousHash == last?.lastHash ?? .zero else {
      throw SimulationFailure(
        .sequencesAreGapless, "\(place) does not name the segment of its writer before it")
    }
    let writer = Writer(
      replica: header.replica, epoch: header.epoch, lastSequence: header.sequences.upperBound,
      lastHash: header.contentHash)
    if let index { writers[index] = writer } else { writers.append(writer) }
  }
}
