import OperationFormat

/// What a record shows, as the changes that give it to a copy without fields.
struct RecordContent {
  /// One operation on a field.
  struct Change {
    var field: Name
    var kind: OperationKind
    var operand: [UInt8]
  }

  var type: Name
  var changes: [Change] = []
  /// Texts of any length. Inserting a long one takes several operations, each of which names units of the one
  /// before.
  var texts: [(field: Name, text: String)] = []
  /// The assets that the changes name.
  var assets: [AssetReference] = []
}

extension Value {
  /// The value for a record of another zone: a reference that names no zone gets this one.
  ///
  /// - Complexity: linear in the value; the recursion is bounded by the depth of values that can be encoded.
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
