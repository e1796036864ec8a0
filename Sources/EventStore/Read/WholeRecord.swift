package import OperationFormat

/// A copy of a record with its system fields, behind one reference: a typed row is passed on at no more cost.
package final class WholeRecord: Sendable {
  package let record: Record
  package let system: SystemFields

  package init(_ record: Record, _ system: SystemFields) {
    (self.record, self.system) = (record, system)
  }
}

extension RecordReader {
  /// A record; nil if it or its zone does not exist. It is not generic, so that typed reads need no closure
  /// for it.
  package func wholeRecord(_ id: RecordID) throws -> WholeRecord? {
    guard let zone = try view.zoneIndexIfThere(of: id.zone) else { return nil }
    let state = view.zone(at: zone).state
    return try view.withStoredRow(named: id.name, in: state) { row in
      try view.withWhole(row, state) { row in
        guard let (type, fields) = try view.visible(row, state) else { return nil }
        return WholeRecord(
          try view.record(id, type, in: row, from: fields, state),
          try view.system(of: row, state, inZoneAt: zone))
      }
    }
  }
}

extension RecordReader {
  /// As ``wholeRecord(_:)``, of the record where moves lead from the one that is named.
  package func currentWholeRecord(_ id: RecordID) throws -> WholeRecord? {
    try ForwardingReader(view).follow(id) { try wholeRecord($0) }
  }
}

extension RecordView {
  /// A copy of the record with its system fields.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  package func wholeRecord() throws -> WholeRecord { WholeRecord(try record(), try system) }
}
