import OperationFormat

/// What a record shows, as the changes that give it to a copy which starts without fields.
struct RecordContent {
  /// One operation on a field.
  struct Change {
    var field: Name
    var kind: OperationKind
    var operand: [UInt8]
  }

  var type: Name
  var changes: [Change] = []
  /// Texts of any length: what inserts one names the units of what was inserted before.
  var texts: [(field: Name, text: String)] = []
  /// The assets that the changes name.
  var assets: [AssetReference] = []
}

extension Value {
  /// The value as a record of another zone says it: a reference that names no zone gets the one that it was said in.
  ///
  /// - Complexity: linear in the value; the recursion is bounded by the depth of what can be encoded.
  func namingZone(_ zone: ZoneID) -> Value {
    switch self {
    case .reference(let reference) where reference.zone == nil:
      .reference(Reference(zone: zone, record: reference.record, rule: reference.rule))
    case .array(let elements): .array(elements.map { $0.namingZone(zone) })
    case .map(let entries): .map(entries.mapValues { $0.namingZone(zone) })
    default: self
    }
  }
}
