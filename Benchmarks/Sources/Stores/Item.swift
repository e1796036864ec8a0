import EventStore
import Models

/// The records of a ``Dataset``, as an app declares them.
package struct Item: Model {
  package static let type = Dataset.type
  package let field0 = Field<String>("field0")
  package let field1 = Field<String>("field1")
  package let field2 = Field<String>("field2")
  package let field3 = Field<String>("field3")

  package init() {}

  /// A number that can only be computed by reading all fields.
  package static func weight(_ row: Row<Item>) -> UInt64 {
    Dataset.weight(row.field0) &+ Dataset.weight(row.field1) &+ Dataset.weight(row.field2)
      &+ Dataset.weight(row.field3)
  }

  /// Sets a field by its property.
  package static func set(_ step: Engine.Step, _ tx: inout WriteTransaction) {
    guard case .string(let text) = step.value else { return }
    let editor = tx[Ref<Item>(step.id)]
    switch step.field.rawValue.utf8.last {
    case UInt8(ascii: "0"): editor.field0 = text
    case UInt8(ascii: "1"): editor.field1 = text
    case UInt8(ascii: "2"): editor.field2 = text
    default: editor.field3 = text
    }
  }
}
