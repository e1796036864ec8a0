package import OperationFormat

/// Keeps the rows of a fold in memory: for checks that need many small folds and no disk.
package final class MemoryFoldStorage: FoldStorage {
  /// The rows of records, by state and name.
  package private(set) var records: [StateNumber: [[UInt8]: [UInt8]]] = [:]
  package private(set) var elements: [[UInt8]: [UInt8]] = [:]
  private var recordNumbers: [StateNumber: UInt32] = [:]
  private let replicas: [ReplicaID]
  private let places: (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?

  /// Makes an empty storage.
  ///
  /// - Parameters:
  ///   - replicas: the identities; the first has number 1.
  ///   - places: the place of a transaction (replica, epoch, sequence) in a zone's incarnation.
  package init(
    replicas: [ReplicaID],
    places: @escaping (ReplicaNumber, UInt32, UInt64, ZoneNumber, IncarnationNumber) -> UInt64?
  ) {
    self.replicas = replicas
    self.places = places
  }

  package func readRecord(_ name: RawSpan, in state: StateNumber, into row: inout [UInt8]) -> Bool {
    guard let found = records[state]?[name.bytes] else { return false }
    row = found
    return true
  }

  package func writeRecord(_ row: RawSpan, _ name: RawSpan, in state: StateNumber) {
    records[state, default: [:]][name.bytes] = row.bytes
  }

  package func makeRecordNumber(in state: StateNumber) -> UInt32 {
    recordNumbers[state, default: 0] += 1
    return recordNumbers[state, default: 0]
  }

  package func readElement(_ key: ElementKey) -> [UInt8]? { elements[key.bytes] }

  package func writeElement(_ row: RawSpan, _ key: ElementKey) { elements[key.bytes] = row.bytes }

  package func deleteElement(_ key: ElementKey) { elements[key.bytes] = nil }

  package func elements(under prefix: ElementKey) -> [(key: ElementKey, row: [UInt8])] {
    elements.filter { $0.key.starts(with: prefix.bytes) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .map { (ElementKey(bytes: $0.key), $0.value) }
  }

  package func offset(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber
  ) -> UInt64? {
    places(replica, epoch, sequence, zone, incarnation)
  }

  package func replicaID(_ number: ReplicaNumber) -> ReplicaID { replicas[Int(number.rawValue) - 1] }
}

extension RawSpan {
  /// A copy.
  package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
