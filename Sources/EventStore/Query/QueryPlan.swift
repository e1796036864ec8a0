public import OperationFormat

/// How a query is run: what is read, and what is done with it.
public struct QueryPlan: Hashable, Sendable, CustomStringConvertible {
  /// The zones whose records are read.
  public let zones: [ZoneID]
  /// What is left to filter.
  public let filter: QueryCondition
  /// By what is sorted; empty if the records come in their order.
  public let sort: [QueryOrder]

  init(query: RecordQuery, zones: [ZoneID]) {
    self.zones = zones.sorted()
    filter = query.condition
    sort = query.order
  }

  public var description: String {
    var lines = ["scan all records of \(zones.map { "\($0)" }.joined(separator: ", "))"]
    if filter != .always(true) { lines.append("filter: \(filter)") }
    if !sort.isEmpty {
      lines.append(
        "sort: \(sort.map { "\($0.field)\($0.isDescending ? " desc" : "")" }.joined(separator: ", "))")
    }
    return lines.joined(separator: "\n")
  }
}
