import OperationFormat

/// A transaction of an undo in each zone. What is more than one may do goes into further ones.
struct UndonePart {
  private let write: LocalWrite
  private let author: String?
  private let label: String
  private let schemaVersion: UInt64?
  private let roots: [ZoneID: Position]
  /// The zones that have transactions of it.
  private(set) var zones: Set<ZoneID> = []

  init(
    _ write: LocalWrite, author: String?, label: String, schemaVersion: UInt64?, _ roots: [ZoneID: Position]
  ) {
    (self.write, self.author, self.label) = (write, author, label)
    (self.schemaVersion, self.roots) = (schemaVersion, roots)
  }

  /// So full a transaction may be before it gets another change.
  private static let fullnessMax = 0.5

  /// Ends the transactions if that of a zone is quite full, and begins others.
  mutating func endIfFull(_ zone: ZoneID, at timestamp: Timestamp?) throws {
    guard try write.draft(for: zone).fullness > Self.fullnessMax else { return }
    try end()
    begin(at: timestamp)
  }

  func begin(at timestamp: Timestamp?) { write.begin(at: timestamp, isAddition: true) }

  mutating func end() throws {
    let changed = Set(write.changedZones)
    try write.end(
      author: author, label: label, schemaVersion: schemaVersion,
      LocalWrite.Undo(roots: roots, additions: zones))
    zones.formUnion(changed)
  }
}
