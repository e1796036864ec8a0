import EventStore
import OperationFormat

/// Writes a commit into a store.
enum HistoryWrite {
  /// Bytes of names and values in one write, so that each of its transactions stays within 8 MiB.
  private static let bytesMax = 7 << 20
  /// The most bytes of an operation besides its record's name and path.
  private static let operationBytes = 100
  private static let operationsOfChangeMax = 5

  /// What one write did.
  private struct Done: Sendable {
    var transactions = 0
    var operations = 0
  }

  /// Makes one write of a commit, with a transaction in each zone that it touches. If the commit is too large
  /// for one write, it makes several.
  static func perform(
    _ commit: HistoryCommit, on store: LocalStore, _ report: inout HistoryReport,
    _ writes: inout [RecordID: Int]
  ) async throws {
    var rest = commit.changes[...]
    while !rest.isEmpty {
      let part = part(&rest)
      let (author, label) = (commit.author, commit.label)
      let done = try await store.write { tx in
        tx.author = author.isEmpty ? nil : author
        tx.label = label
        return try write(part, &tx)
      }
      report.transactions += done.transactions
      report.operations += done.operations
      for change in part { writes[HistoryRecord(path: change.path).id, default: 0] += 1 }
    }
  }

  /// Takes as many changes as one write may hold.
  private static func part(_ rest: inout ArraySlice<HistoryChange>) -> [HistoryChange] {
    var bytes = 0
    var part: [HistoryChange] = []
    while let next = rest.first {
      bytes +=
        2 * next.path.count + (next.content?.blob.utf8.count ?? 0) + operationsOfChangeMax * operationBytes
      let operations = (part.count + 1) * operationsOfChangeMax
      let steps = FoldWork.stepsMax(ofOperations: operations, payloadBytes: bytes)
      if bytes > bytesMax || steps > Limits.foldStepsMax, !part.isEmpty { break }
      part.append(next)
      rest.removeFirst()
    }
    return part
  }

  private static func write(_ changes: [HistoryChange], _ tx: inout WriteTransaction) throws -> Done {
    var done = Done()
    var zones: Set<ZoneID> = []
    for change in changes {
      let record = HistoryRecord(path: change.path)
      if zones.insert(record.id.zone).inserted {
        done.transactions += 1
        if try tx.createZone(record.id.zone) { try tx.attachZone(record.id.zone) }
      }
      let isThere = try tx.contains(record.id)
      if !isThere {
        try tx.create(record.id, type: HistoryRecord.type)
        done.operations += 1
      }
      guard let content = change.content else {
        // A record that is deleted and not known here is created first, so that the log has the deletion.
        try tx.delete(record.id)
        done.operations += 1
        continue
      }
      for (field, value) in record.fields(content) {
        try tx.set(field, of: record.id, to: value)
        done.operations += 1
      }
    }
    return done
  }
}
