import OperationFormat

/// What a row of the log holds: an entry, several, or removed ones.
struct LogRow {
  enum Kind {
    /// ``LogEntryCodec``
    case entry
    /// ``LogRun``
    case run
    /// ``LogEntryCodec/removedRun(_:at:)``
    case removed
  }

  let kind: Kind
  let positions: ClosedRange<Position>

  /// Reads as much of a row as its positions need. The checksum of a row with one entry is not checked.
  init(_ row: RawSpan, at position: Position) throws(FormatError) {
    if let removed = try LogEntryCodec.removedRun(row, at: position) {
      (kind, positions) = (.removed, removed)
    } else if LogRun.isRun(row) {
      (kind, positions) = (.run, try LogRun.positions(of: row, at: position))
    } else {
      (kind, positions) = (.entry, position...position)
    }
  }

  /// Reads the row under a key.
  ///
  /// - Throws: ``StoreError`` `damaged`, `newerFormat`.
  init(_ row: RawSpan, under key: RawSpan) throws {
    let position = Position(rawValue: try key.bigEndian64(at: 0))
    do {
      try self.init(row, at: position)
    } catch {
      throw StoreError.damagedEntry(at: position, error)
    }
  }
}
