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

extension ReadView {
  /// What a record shows, all its cells with it, for a copy in another zone; nil if it is not there.
  ///
  /// What lost in a conflict stays behind. Values are those that are stored; a reference that names no zone gets the one
  /// of the record.
  /// - Throws: ``StoreError`` `valueInvalid` where a value becomes too large by that; `damaged`.
  func content(of record: RecordID) throws -> RecordContent? {
    try withRow(of: record) { row, state -> RecordContent? in
      guard let (type, _) = try visible(row, state) else { return nil }
      var content = RecordContent(type: try name(type))
      for (field, shown) in try changes(in: row, state) {
        for change in shown {
          let change = change.mapValues { $0.namingZone(record.zone) }
          if case .inserted(let text?) = change.fieldKind.with({ $0.edit(by: change) }) {
            content.texts.append((field, text))
            continue
          }
          for value in change.values { value.appendAssets(to: &content.assets) }
          var operand = ByteWriter()
          do throws(FormatError) {
            try change.encode(into: &operand)
          } catch {
            throw StoreError.unstorable(field, record, error)
          }
          content.changes.append(.init(field: field, kind: change.kind, operand: operand.bytes))
        }
      }
      return content
    }
  }
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
