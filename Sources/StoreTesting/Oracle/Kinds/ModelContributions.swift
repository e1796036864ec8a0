import EventStore
import OperationFormat

/// Contributions read as an array of all payloads, in their order.
enum ModelContributions: ModelKind {
  static let shape = ModelShape.cell
  static let reading = ModelReading.payloads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    .array(field.payloads)
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] { [] }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] { [] }
}
