import EventStore
import OperationFormat

/// A register reads the greatest of its heads.
enum ModelRegister: ModelKind {
  static let shape = ModelShape.cell
  static let reading = ModelReading.heads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    guard let value = field.heads[0].content.value, value != .null else { return nil }
    return shown(value)
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] {
    [field.heads[0].content.value].compactMap(\.self)
  }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] {
    field.heads.count > 1 ? [(nil, field.heads)] : []
  }
}
