extension FieldChange: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> FieldChange {
    // The values that ``mapValues(_:)`` leaves as they are: of these only an element that is removed may name
    // a zone.
    if case .remove(let value) = self { return .remove(try value.mapZones(transform)) }
    return try mapValues { (value) throws(Failure) in try value.mapZones(transform) }
  }
}

extension LogOperation: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> LogOperation {
    switch self {
    case .update(let record, let type, let field, let change):
      .update(record: record, type: type, field: field, try change.mapZones(transform))
    case .moveAway(let record, let place): .moveAway(record: record, to: try place.mapZones(transform))
    case .moveHere(let record, let type, let place):
      .moveHere(record: record, type: type, from: try place.mapZones(transform))
    case .create, .delete, .compact, .unknown: self
    }
  }
}

extension LogTransaction {
  /// A transaction that was only decoded, as one of the log of a zone that this store's user sees: its zone,
  /// and the zones that its operations name.
  package func seen(inLogOf log: ZoneID) -> LogTransaction {
    var transaction = self
    transaction.zone = log
    if log.owner.byteCount > 0 { transaction.operations = operations.map { $0.seen(inLogOf: log) } }
    return transaction
  }
}
