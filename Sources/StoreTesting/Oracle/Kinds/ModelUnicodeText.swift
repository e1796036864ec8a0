import EventStore
import OperationFormat

/// A text reads its visible scalars in the order of its units.
enum ModelUnicodeText: ModelKind {
  static let shape = ModelShape.units
  static let reading = ModelReading.heads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    field.text.isEmpty ? nil : .string(field.text)
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] { [] }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] { [] }
}
