import EventStore

extension JSON {
  /// A transaction of the log with the store's data about it: its position, its time as text, and its
  /// arrival.
  static func members(of entry: LogEntry) -> [Name: JSON] {
    var members = members(of: entry.transaction)
    members["position"] = .number(entry.position.rawValue)
    members["time"] = .string(Display.time(entry.transaction.timestamp))
    members["arrived"] = .number(entry.arrivedMilliseconds)
    return members
  }
}
