// Changes and operations with the zones that they name, in both ways: see ``ZoneID/stated(inLogOf:)``.

extension FieldChange {
  /// The change with the references in its values as the bytes of a zone's log have them.
  package func stated(inLogOf log: ZoneID) throws(FormatError) -> FieldChange {
    guard log.owner.byteCount > 0 else { return self }
    return try mapAllValues { (value) throws(FormatError) in try value.stated(inLogOf: log) }
  }

  /// The change with the references in its values as this store's user sees them.
  package func seen(inLogOf log: ZoneID) -> FieldChange {
    guard log.owner.byteCount > 0 else { return self }
    return mapAllValues { (value) throws(Never) in value.seen(inLogOf: log) }
  }

  /// As ``mapValues(_:)``, and the element of a set that is removed too.
  private func mapAllValues<Failure>(
    _ transform: (Value) throws(Failure) -> Value
  ) throws(Failure) -> FieldChange {
    if case .remove(let value) = self { return .remove(try transform(value)) }
    return try mapValues(transform)
  }
}

extension LogOperation {
  /// The operation with the zones that it names as the bytes of a zone's log have them.
  func stated(inLogOf log: ZoneID) throws(FormatError) -> LogOperation {
    switch self {
    case .update(let record, let type, let field, let change):
      .update(record: record, type: type, field: field, try change.stated(inLogOf: log))
    case .moveAway(let record, let place): .moveAway(record: record, to: try place.stated(inLogOf: log))
    case .moveHere(let record, let type, let place):
      .moveHere(record: record, type: type, from: try place.stated(inLogOf: log))
    case .create, .delete, .unknown: self
    }
  }

  /// The operation with the zones that it names as this store's user sees them.
  func seen(inLogOf log: ZoneID) -> LogOperation {
    switch self {
    case .update(let record, let type, let field, let change):
      .update(record: record, type: type, field: field, change.seen(inLogOf: log))
    case .moveAway(let record, let place): .moveAway(record: record, to: place.seen(inLogOf: log))
    case .moveHere(let record, let type, let place):
      .moveHere(record: record, type: type, from: place.seen(inLogOf: log))
    case .create, .delete, .unknown: self
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
