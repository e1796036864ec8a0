import OperationFormat

/// The files of a history at one point.
package struct HistoryTree: Sendable {
  private var contents: [RecordID: (record: HistoryRecord, content: HistoryContent)] = [:]

  /// Creates a tree without files.
  package init() {}

  /// How many files there are.
  var count: Int { contents.count }

  /// Sets a file, or removes it.
  package mutating func apply(_ change: HistoryChange) {
    let record = HistoryRecord(path: change.path)
    contents[record.id] = change.content.map { (record, $0) }
  }

  /// The files in the order of their records.
  var files: [(record: HistoryRecord, content: HistoryContent)] {
    contents.values.sorted { $0.record.id.precedes($1.record.id) }
  }
}
