import OperationFormat

extension Fold {
  /// Whether a field of the loaded row has a winner with a greater timestamp than the folded operation.
  mutating func isLate(_ field: NameNumber) throws -> Bool {
    guard PlantedBug.lastWriterByWallClock.isPlanted else { return false }
    guard let winner = try heads(of: CellPath(CellNumber(register: field))).first else { return false }
    return winner.head.timestamp > timestamp
  }
}
