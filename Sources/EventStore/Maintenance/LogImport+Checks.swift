import LMDB
import OperationFormat

extension LogImport {
  /// Checks, at the end of a log, that what it says of remote logs is no more than its transactions: a store
  /// that lacks one of a segment's would say that it is in sync, without it.
  ///
  /// - Throws: ``StoreError`` `importInvalid`.
  func checkImportedPlaces() throws {
    try storage.flush()
    let tables = storage.tables
    for (number, row) in try storage.zones.rows() where !row.status.isGone {
      func hash(at place: BaseNumbers) throws -> ContentHash? {
        try storage.segments.row(at: place.offset, in: number, place.incarnation)?.hash
      }
      if let token = row.token, token.offset > 0,
        try hash(at: (token.incarnation, token.offset)) != token.hash
      {
        throw Self.invalid("the token of a zone, at offset \(token.offset), does not match a segment")
      }
      if let base = row.base, try hash(at: base) == nil {
        throw Self.invalid("the base of a zone is at offset \(base.offset), where no segment is")
      }
      if let token = row.token {
        try storage.lanes.countFloors(
          try storage.logFloors(of: number, token.incarnation), upTo: token.offset, of: number,
          token.incarnation)
      }
    }
    var cursor = try storage.transaction.openCursor(tables.segments)
    var isThere = try cursor.first()
    while isThere {
      let (key, bytes) = cursor.withEntry { ($0.bytes, $1.bytes) }
      if let problem = try storage.segments.problem(ofSegment: key.span.bytes, bytes.span.bytes) {
        throw Self.invalid(problem)
      }
      isThere = try cursor.next()
    }
  }

  static func invalid(_ message: String) -> StoreError {
    StoreError(
      .importInvalid, message, hint: "the file was changed, or lines are missing: export the log again")
  }
}
