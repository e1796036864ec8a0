import EventStore
import OperationFormat

/// A counter reads the sum of its heads.
enum ModelCounter: ModelKind {
  static let shape = ModelShape.cell
  static let reading = ModelReading.sums

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    RecordHeads.sum(of: field.heads)
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] { [] }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] { [] }
}
