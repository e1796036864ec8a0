// Who owns a zone that is named inside the bytes of a transaction, in a reference or as the other place of a
// move, depends on who looks: for its owner it is a zone without an owner, for a participant one of “alice”.
// So the bytes name the owner as seen from the zone that they are in: no owner stands for the owner of that
// zone, and any other is an account.
//
// A store names zones as its user sees them. These are the two ways between.

extension ZoneID {
  /// How the bytes of a zone's log name this zone.
  ///
  /// - Parameter log: the zone whose log has the bytes, as this store's user sees it.
  /// - Throws: ``FormatError`` `.accountUnknown` for one of this store's user in the log of another owner: the bytes
  ///   would need the user's account.
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

extension RecordID {
  /// How the bytes of a zone's log name this record of another zone: see ``ZoneID/stated(inLogOf:)``.
  package func stated(inLogOf log: ZoneID) throws(FormatError) -> RecordID {
    RecordID(zone: try zone.stated(inLogOf: log), name: name)
  }

  /// How this store's user sees a record of another zone that the bytes of a zone's log name.
  package func seen(inLogOf log: ZoneID) -> RecordID { RecordID(zone: zone.seen(inLogOf: log), name: name) }
}

extension Reference {
  /// How the bytes of a zone's log name the target: see ``ZoneID/stated(inLogOf:)``.
  package func stated(inLogOf log: ZoneID) throws(FormatError) -> Reference {
    Reference(zone: try zone?.stated(inLogOf: log), record: record, rule: rule)
  }

  /// How this store's user sees a reference in the bytes of a zone's log.
  package func seen(inLogOf log: ZoneID) -> Reference {
    Reference(zone: zone?.seen(inLogOf: log), record: record, rule: rule)
  }
}

extension Value {
  /// The value with its references as the bytes of a zone's log have them: see ``ZoneID/stated(inLogOf:)``.
  package func stated(inLogOf log: ZoneID) throws(FormatError) -> Value {
    guard log.owner.byteCount > 0 else { return self }
    return try mapReferences { (reference) throws(FormatError) in try reference.stated(inLogOf: log) }
  }

  /// The value with its references as this store's user sees them.
  package func seen(inLogOf log: ZoneID) -> Value {
    guard log.owner.byteCount > 0 else { return self }
    return mapReferences { (reference) throws(Never) in reference.seen(inLogOf: log) }
  }

  /// Replaces each reference. What is deeper than values may be is left as it is: the encoder refuses it.
  private func mapReferences<Failure>(
    depth: Int = 1, _ transform: (Reference) throws(Failure) -> Reference
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
