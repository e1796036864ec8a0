import LMDB
import OperationFormat

/// Finds which records cascades hide, which references read as missing, and who refers to a record.
///
/// All of it follows from the records and from which of them are alive. What was found out is cached in the
/// read view.
struct ReferenceReader {
  typealias RecordKey = RecordFates.RecordKey

  private let view: ReadView

  init(_ view: ReadView) { self.view = view }

  /// The record that is not alive, and to which cascades lead from a row's record; nil if there is none.
  ///
  /// - Complexity: linear in the cascades on the way; a read view follows each record once.
  func missingTarget(of row: StoredRow, _ state: StateNumber) throws -> RecordKey? {
    guard row.flags.contains(.cascades) else { return nil }
    return try firstMissing(from: cascades(of: row, state))
  }

  /// The record that a key of the cache is of.
  func record(_ key: RecordKey) throws -> RecordID {
    RecordID(zone: try view.zone(of: key.state), name: try Name(utf8: key.name.span.bytes))
  }

  /// The first record found that is not there, among some and those that they need.
  private func firstMissing(from targets: [RecordKey]) throws -> RecordKey? {
    // Nearly always: the targets are cached.
    if targets.allSatisfy({ isKnownThere($0) }) { return nil }
    var path = [Step(targets: targets)]
    var met: Set<RecordKey> = []
    // As `met`, nearest first.
    var order: [RecordKey] = []
    while let step = path.last {
      guard step.next < step.targets.count else {
        path.removeLast()
        continue
      }
      path[path.count - 1].next += 1
      let key = step.targets[step.next]
      guard met.insert(key).inserted else { continue }
      order.append(key)
      var missing: RecordKey?
      switch view.fates[key] {
      case .there: continue
      case .gone(let found): missing = found
      case nil:
        if let targets = try needs(of: key) {
          path.append(Step(key: key, targets: targets))
        } else {
          missing = key
        }
      }
      guard let missing else { continue }
      // All records on the way need it.
      view.fates.remember(.gone(missing: missing), of: path.compactMap(\.key) + [key])
      return missing
    }
    view.fates.remember(.there, of: order)
    return nil
  }

  private func isKnownThere(_ key: RecordKey) -> Bool {
    if case .there = view.fates[key] { return true }
    return false
  }

  private struct Step {
    /// Nil for the first record.
    var key: RecordKey?
    var targets: [RecordKey]
    var next = 0
  }

  /// The direct targets of a row's cascades in the zone.
  private func cascades(of row: StoredRow, _ state: StateNumber) throws -> [RecordKey] {
    guard row.flags.contains(.cascades) else { return [] }
    let prefix = ReferenceKey.cascades(of: state, record: try row.recordNumber())
    var targets: [RecordKey] = []
    var isIndexed = false
    try view.rows.forEachReference(under: prefix) { _, row in
      isIndexed = true
      var reader = ByteReader(row)
      while let (rule, target) = try PlacedReferences.next(&reader) {
        guard rule == .cascade else { continue }
        if let name = try localName(row.extracting(target), state) {
          targets.append(RecordKey(state: state, name: name))
        }
      }
      return true
    }
    guard isIndexed else {
      throw StoreError(
        .damaged, "a record's cascades are not in the index of references",
        hint: "run a verification, then rebuild the store from its log")
    }
    return targets
  }

  /// What must be there for a record to be there: the direct targets of its cascades if it is alive; where it went
  /// if it moved. Nil if it was deleted, or never made.
  private func needs(of key: RecordKey) throws -> [RecordKey]? {
    let bytes = TableKey.record(key.state, key.name.span.bytes)
    view.footprint?.note(record: bytes.span)
    return try view.transaction.withValue(of: bytes.span, in: view.tables.records) { row in
      let row = StoredRow(row)
      if try view.alive(row, key.state) != nil { return try cascades(of: row, key.state) }
      let name = try Name(utf8: key.name.span.bytes)
      let copy = try ForwardingReader(view).destination(of: row, named: name, key.state)
      return try copy.map { try held($0) }
    } ?? nil
  }

  /// A record, if the store has its zone and has had it there. What is absent is not deleted, unless the zone is
  /// compacted: then it was, and dropped.
  private func held(_ record: RecordID) throws -> [RecordKey] {
    guard let state = try view.stateIfThere(of: record.zone) else { return [] }
    let hasArrived = try view.withStoredRow(named: record.name, in: state) { _ in true } ?? false
    let isCompacted = try !hasArrived && view.states.storedRow(of: state).floor != nil
    return hasArrived || isCompacted ? [RecordKey(state: state, name: Array(record.name.rawValue.utf8))] : []
  }

  /// The name of a target in the holder's zone; nil for a target in another zone.
  ///
  /// - Parameter target: the bytes of a reference after its rule.
  private func localName(_ target: RawSpan, _ state: StateNumber) throws -> [UInt8]? {
    var reader = ByteReader(target)
    if try reader.readUInt8("reference.target") == 0 {
      let count = try reader.readCount("reference.target")
      return target.extracting(try reader.readBytes(count, "reference.target")).bytes
    }
    let reference = try Reference(target: target, rule: .cascade).seen(inLogOf: view.zone(of: state))
    return try isLocal(reference, state) ? Array(reference.record.rawValue.utf8) : nil
  }

  /// Whether a reference, as this store's user sees it, names a record of the holder's zone.
  private func isLocal(_ reference: Reference, _ state: StateNumber) throws -> Bool {
    guard let zone = reference.zone else { return true }
    return try zone == view.zone(of: state)
  }

  /// Whether a record of a zone is there for the references in it: it exists, or is where moves lead from it, as far
  /// as the store knows.
  func isThere(_ name: Name, in zone: ZoneID) throws -> Bool {
    try isThere(Array(name.rawValue.utf8), view.state(of: zone))
  }

  /// As ``isThere(_:in:)``, by the name's UTF-8.
  private func isThere(_ name: [UInt8], _ state: StateNumber) throws -> Bool {
    try firstMissing(from: [RecordKey(state: state, name: name)]) == nil
  }

  // MARK: Values

  /// What a value of a row that may have references reads in a state, as this store's user sees it: nil for a
  /// reference that is nullified, null for one inside.
  func shown(_ value: Value, _ state: StateNumber) throws -> Value? {
    try shown(seen: view.seen(value, in: state), state)
  }

  private func shown(seen value: Value, _ state: StateNumber) throws -> Value? {
    switch value {
    case .reference(let reference):
      guard reference.rule == .nullify, !view.showsAll, try isLocal(reference, state) else { return value }
      return try isThere(Array(reference.record.rawValue.utf8), state) ? value : nil
    case .array(let elements): return .array(try elements.map { try shown(seen: $0, state) ?? .null })
    case .map(let entries): return .map(try entries.mapValues { try shown(seen: $0, state) ?? .null })
    default: return value
    }
  }

  // MARK: Holders

  /// The references to a record, and to places from which moves lead to it, from visible records of a zone: in the
  /// order of names, fields, kinds, rules and what they name.
  ///
  /// - Parameter places: the record and these places.
  func holders(of places: [RecordID], in zone: ZoneID) throws -> [Holder] {
    let state = try view.state(of: zone)
    view.footprint?.note(allOf: state)
    var found: [Holder] = []
    for place in places {
      // A reference within the zone may name it, or not.
      for named in zone == place.zone ? [nil, zone] : [place.zone] {
        let reference = Reference(zone: named, record: place.name)
        // The zone's log has no reference that it cannot name.
        guard let bytes = try? reference.stated(inLogOf: zone).encodedTarget() else { continue }
        let prefix = ReferenceKey.holders(of: bytes.span.bytes, in: state)
        try view.rows.forEachReference(under: prefix) { key, row in
          let (rule, cell) = try ReferenceKey.holder(in: key, after: prefix)
          let name = try Name(utf8: row)
          guard let kind = cell.kind, try isVisible(name, state) else { return true }
          let record = RecordID(zone: zone, name: name)
          found.append(
            Holder(record: record, field: try view.name(cell.field), kind: kind, rule: rule, target: place))
          return true
        }
      }
    }
    found.sort { a, b in
      if a.record != b.record { return a.record < b.record }
      if a.field != b.field { return a.field < b.field }
      return (a.kind.rawValue, a.rule.rawValue, a.target) < (b.kind.rawValue, b.rule.rawValue, b.target)
    }
    // A list may name one record in several elements.
    return found.indices.compactMap { $0 > 0 && found[$0 - 1] == found[$0] ? nil : found[$0] }
  }

  /// Whether a record exists. One that moved away does not.
  private func isVisible(_ name: Name, _ state: StateNumber) throws -> Bool {
    try view.withStoredRow(named: name, in: state) { try view.visible($0, state)?.type } != nil
  }
}
