import EventStore
import OperationFormat

/// A list reads its items in the order of its units, each the greatest of its heads.
enum ModelList: ModelKind {
  static let shape = ModelShape.units
  static let reading = ModelReading.heads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    if field.items.isEmpty { return nil }
    return .array(field.items.compactMap { $0[0].content.value.map { shown($0) ?? .null } })
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] {
    field.items.compactMap(\.[0].content.value)
  }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] {
    field.items.filter { $0.count > 1 }.map { (nil, $0) }
  }
}
