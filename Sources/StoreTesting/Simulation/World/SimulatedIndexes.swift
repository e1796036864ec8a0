import EventStore
import OperationFormat

/// The indexes of all simulated stores: of values, elements and keys of every kind of field.
enum SimulatedIndexes {
  static let all: [IndexDefinition] = [
    IndexDefinition("values", of: cellTypes, by: [value("f0"), value("f1", .register, isDescending: true)]),
    IndexDefinition("elements", of: cellTypes, by: [elements("f2", .set), value("f0")]),
    IndexDefinition("keys", of: cellTypes, by: [elements("f2", .map)]),
    IndexDefinition("items", of: [cellTypes[0]], by: [value("f0"), elements("f2", .list)]),
    IndexDefinition("sums", of: cellTypes, by: [value("f2", .counter), value("f2", .text)]),
    IndexDefinition(
      "ring", of: ["link"], by: [value("generation", .register, isDescending: true), value("next")]),
    IndexDefinition("edge", of: ["f"], by: [value("f")]),
  ]

  private static let cellTypes: [Name] = ["t0", "t1"]

  private static func value(_ field: Name, _ kind: FieldKind = .register, isDescending: Bool = false)
    -> IndexPart
  {
    IndexPart(.value(QueryField(.field(field, kind))), isDescending: isDescending)
  }

  private static func elements(_ field: Name, _ kind: FieldKind) -> IndexPart {
    IndexPart(.elements(QueryField(.field(field, kind))))
  }
}
