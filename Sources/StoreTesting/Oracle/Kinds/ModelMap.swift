import EventStore
import OperationFormat

/// A map reads, for each key, the greatest of its heads.
enum ModelMap: ModelKind {
  static let shape = ModelShape.elements
  static let reading = ModelReading.heads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    let entries = field.elements.compactMap { heads -> (Name, Value)? in
      guard let (key, value) = entry(heads[0]) else { return nil }
      return shown(value).map { (key, $0) }
    }
    return .map(Dictionary(entries) { first, _ in first })
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] {
    field.elements.compactMap(\.[0].content.value)
  }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] {
    field.elements.filter { $0.count > 1 }.compactMap { heads in
      entry(heads[0]).map { ($0.key, heads) }
    }
  }

  private static func entry(_ head: CellHead) -> (key: Name, value: Value)? {
    guard case .entry(let key, let value) = head.content else { return nil }
    return (key, value)
  }
}
