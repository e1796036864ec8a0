import EventStore
import OperationFormat

/// The text of expected and found values in a mismatch.
enum ModelText {
  /// Heads as in “"a" at 5.0 by 0…01.1.3.0, dead at …”, records with their fields, and the rest as it
  /// describes itself.
  static func text(_ fact: Any) -> String {
    switch fact {
    case let heads as [CellHead]: list(heads.map(text))
    case let names as [Name]: list(names.map { "“\($0)”" })
    case let records as [Record]: list(records.map(text))
    case let record as Record: text(record)
    case let conflict as Conflict: text(conflict)
    case Optional<Any>.none: "nothing"
    default: "\(fact)"
    }
  }

  private static func text(_ head: CellHead) -> String {
    let content =
      switch head.content {
      case .value(let value): "\(value)"
      case .addend(let value), .contribution(let value): "\(value) added"
      case .element(let value): "element \(value)"
      case .entry(let key, let value): "“\(key)” = \(value)"
      case .text(let text): "“\(text)”"
      case .item(let unit, let value): "unit \(unit) = \(value)"
      case .alive(let type): "alive as “\(type)”"
      case .dead: "dead"
      case .moved(let place): "moved to \(place)"
      }
    return "\(content) at \(head.timestamp) by \(head.operation)"
  }

  private static func text(_ record: Record) -> String {
    let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
    return "\(record.id) as “\(record.type)” with \(list(fields))"
  }

  private static func text(_ conflict: Conflict) -> String {
    let key = conflict.key.map { ", key “\($0)”" } ?? ""
    let cell = (conflict.field.map { "field “\($0)”" } ?? "existence") + key
    return "\(cell) of \(conflict.record): \(list(([conflict.winner] + conflict.losers).map(text)))"
  }

  private static func list(_ parts: [String]) -> String { "[\(parts.joined(separator: ", "))]" }
}
