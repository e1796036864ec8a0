import EventStore
import OperationFormat

/// Lists what a device has written since its store was last checked, for the trace.
enum WrittenOperations {
  /// A line for each transaction.
  static func lines(_ device: SimulatedDevice, _ store: LocalStore) throws -> [String] {
    guard let identity = device.view.identity else { return [] }
    var lines: [String] = []
    try store.read { transaction in
      let last = try transaction.lastPosition()
      var position = device.view.last
      while position < last {
        position = position.next
        guard let made = try transaction.transactionIfThere(at: position), made.replica == identity.replica,
          made.epoch == identity.epoch
        else { continue }
        let operations = made.operations.map(text).joined(separator: ", ")
        lines.append("    \(made.zone) \(made.sequence): \(operations)")
      }
    }
    return lines
  }

  private static func text(_ operation: LogOperation) -> String {
    switch operation {
    case .create(let record, let type): "create \(quoted(record)) as \(quoted(type))"
    case .delete(let record): "delete \(quoted(record))"
    case .moveAway(let record, let place): "move \(quoted(record)) to \(place.description.debugDescription)"
    case .moveHere(let record, let type, let place):
      "move here \(quoted(record)) as \(quoted(type)) from \(place.description.debugDescription)"
    case .update(let record, _, let field, let change): "\(quoted(field)) of \(quoted(record)): \(change)"
    case .compact(let floor): "compact up to \(floor)"
    case .unknown(let kind, _): "kind \(kind)"
    }
  }

  /// A name as a string literal, so that it has no line break.
  private static func quoted(_ name: Name) -> String { name.rawValue.debugDescription }
}
