public import OperationFormat

/// How a query is run: what is read, and what is done with it.
public struct QueryPlan: Hashable, Sendable, CustomStringConvertible {
  /// The zones whose records are read.
  public let zones: [ZoneID]
  /// The index whose entries are read; nil if all records are.
  public let index: Name?
  /// What the index finds them by.
  public let found: [QueryCondition]
  /// What is left to filter.
  public let filter: QueryCondition
  /// Whether the entries of the index tell all that is filtered, so that no record is read for it.
  public let isCovered: Bool
  /// By what is sorted; empty if the records come in their order.
  public let sort: [QueryOrder]

  init(query: RecordQuery, zones: [ZoneID], _ use: IndexUse?) {
    self.zones = zones.sorted()
    index = use?.index.definition.name
    found = use?.used ?? []
    filter = use?.rest ?? query.condition
    isCovered = use?.coversRest(of: query) ?? false
    sort = use?.isReverse == nil ? query.order : []
  }

  public var description: String {
    let places = zones.map { "\($0)" }.joined(separator: ", ")
    var lines = ["scan all records of \(places)"]
    if let index {
      let what = found.isEmpty ? "all, in its order" : found.map { "\($0)" }.joined(separator: " and ")
      lines = ["index “\(index)” of \(places): \(what)"]
    }
    if filter != .always(true) { lines.append("filter\(isCovered ? " by the index" : ""): \(filter)") }
    if !sort.isEmpty {
      lines.append(
        "sort: \(sort.map { "\($0.field)\($0.isDescending ? " desc" : "")" }.joined(separator: ", "))")
    }
    return lines.joined(separator: "\n")
  }
}
