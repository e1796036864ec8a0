// Who owns a zone that is named inside the bytes of a transaction, in a reference or as the other place of a
// move, depends on who looks: for its owner it is a zone without an owner, for a participant one of “alice”.
// So the bytes name the owner as seen from the zone that they are in: no owner stands for the owner of that
// zone, and any other is an account.
//
// A store names zones as its user sees them. ``ZoneNaming`` has the two ways between.

extension ZoneID {
  /// How the bytes of a zone's log name this zone.
  ///
  /// - Parameter log: the zone whose log has the bytes, as this store's user sees it.
  /// - Throws: ``FormatError`` `.accountUnknown` for one of this store's user in the log of another owner: the
  ///   bytes would need the user's account.
  func stated(inLogOf log: ZoneID) throws(FormatError) -> ZoneID {
    if log.owner.byteCount == 0 { return self }
    if owner == log.owner { return ZoneID(name: name) }
    guard owner.byteCount > 0 else {
      throw FormatError(
        .accountUnknown, at: 0, in: "zone.owner",
        expected: "a zone of the log's owner, or of another account",
        found: "one of this store's user, whose account is not known")
    }
    return self
  }

  /// How this store's user sees a zone that the bytes of a zone's log name.
  func seen(inLogOf log: ZoneID) -> ZoneID {
    owner.byteCount == 0 && log.owner.byteCount > 0 ? ZoneID(owner: log.owner, name: name) : self
  }
}

/// Names other zones, in a reference or as the other place of a move.
package protocol ZoneNaming {
  /// The same with each zone that it names replaced.
  func mapZones<Failure>(_ transform: (ZoneID) throws(Failure) -> ZoneID) throws(Failure) -> Self
}

extension ZoneNaming {
  /// The same as the bytes of a zone's log have it.
  ///
  /// - Parameter log: the zone whose log has the bytes, as this store's user sees it.
  /// - Throws: ``FormatError`` `.accountUnknown`, as ``ZoneID/stated(inLogOf:)``.
  package func stated(inLogOf log: ZoneID) throws(FormatError) -> Self {
    guard log.owner.byteCount > 0 else { return self }
    return try mapZones { (zone) throws(FormatError) in try zone.stated(inLogOf: log) }
  }

  /// The same as this store's user sees it.
  ///
  /// - Parameter log: the zone whose log has its bytes.
  package func seen(inLogOf log: ZoneID) -> Self {
    guard log.owner.byteCount > 0 else { return self }
    return mapZones { (zone) throws(Never) in zone.seen(inLogOf: log) }
  }
}

extension RecordID: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> RecordID {
    RecordID(zone: try transform(zone), name: name)
  }
}

extension Reference: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> Reference {
    guard let zone else { return self }
    return Reference(zone: try transform(zone), record: record, rule: rule)
  }
}

extension Value: ZoneNaming {
  package func mapZones<Failure>(
    _ transform: (ZoneID) throws(Failure) -> ZoneID
  ) throws(Failure) -> Value {
    try mapReferences { (reference) throws(Failure) in try reference.mapZones(transform) }
  }

  /// The value with each reference replaced. What is deeper than values may be is left as it is: the encoder
  /// refuses it.
  ///
  /// - Complexity: linear in the value
  package func mapReferences<Failure>(
    _ transform: (Reference) throws(Failure) -> Reference
  ) throws(Failure) -> Value {
    try mapReferences(depth: 1, transform)
  }

  private func mapReferences<Failure>(
    depth: Int, _ transform: (Reference) throws(Failure) -> Reference
  ) throws(Failure) -> Value {
    guard mayNameRecords, depth <= Limits.valueDepthMax else { return self }
    switch self {
    case .reference(let reference): return .reference(try transform(reference))
    case .array(let elements):
      return .array(
        try elements.map { (element) throws(Failure) in
          try element.mapReferences(depth: depth + 1, transform)
        })
    case .map(var entries):
      for (key, element) in entries where element.mayNameRecords {
        entries[key] = try element.mapReferences(depth: depth + 1, transform)
      }
      return .map(entries)
    default: return self
    }
  }
}
