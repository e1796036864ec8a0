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
  /// - Complexity: linear in the value
  func namingZone(_ zone: ZoneID) -> Value {
    mapReferences { (reference) throws(Never) in
      Reference(zone: reference.zone ?? zone, record: reference.record, rule: reference.rule)
    }
  }
}
