import EventStore
import OperationFormat

/// A set reads the elements that have heads.
enum ModelSet: ModelKind {
  static let shape = ModelShape.elements
  static let reading = ModelReading.heads

  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value? {
    .array(field.elements.compactMap { $0[0].content.element.flatMap(shown) })
  }

  static func referringValues(of field: RecordHeads.Field) -> [Value] {
    field.elements.compactMap(\.[0].content.value)
  }

  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])] { [] }
}
