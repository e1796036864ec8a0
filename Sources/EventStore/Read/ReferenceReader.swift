import LMDB
import OperationFormat

/// Finds which records cascades hide, which references read as missing, and who refers to a record.
///
/// All of it follows from the records and from which of them are alive. What was found out is cached in the
/// read view.
struct ReferenceReader {
  private let view: ReadView

  init(_ view: ReadView) { self.view = view }

  /// The record that is not alive, and to which cascades lead from a row's record; nil if there is none.
  ///
  /// - Complexity: linear in the cascades on the way; a read view follows each record once.
  func missingTarget(of row: StoredRow, _ state: StateNumber) throws -> [UInt8]? {
    guard row.flags.contains(.cascades) else { return nil }
    let targets = try cascades(of: row, state)
    // Nearly always: the targets are cached.
    if targets.allSatisfy({ isKnown(there: $0, state) }) { return nil }
    var path = [Step(targets: targets)]
    var met: Set<[UInt8]> = []
    // As `met`, nearest first.
    var order: [[UInt8]] = []
    while let step = path.last {
      guard step.next < step.targets.count else {
        path.removeLast()
        continue
      }
      path[path.count - 1].next += 1
      let name = step.targets[step.next]
      guard met.insert(name).inserted else { continue }
      order.append(name)
      var missing: [UInt8]?
      switch view.fates[.init(state: state, name: name)] {
      case .there: continue
      case .gone(let found): missing = found
      case nil:
        if let targets = try cascadesIfAlive(of: name, state) {
          path.append(Step(name: name, targets: targets))
        } else {
          missing = name
        }
      }
      guard let missing else { continue }
      // Cascades lead there from all records on the way.
      view.fates.remember(.gone(missing: missing), of: path.compactMap(\.name) + [name], state)
      return missing
    }
    view.fates.remember(.there, of: order, state)
    return nil
  }

  private func isKnown(there name: [UInt8], _ state: StateNumber) -> Bool {
    if case .there = view.fates[.init(state: state, name: name)] { return true }
    return false
  }

  private struct Step {
    /// Nil for the first record.
    var name: [UInt8]?
    var targets: [[UInt8]]
    var next = 0
  }

  /// The direct targets of a row's cascades in the zone.
  private func cascades(of row: StoredRow, _ state: StateNumber) throws -> [[UInt8]] {
    guard row.flags.contains(.cascades) else { return [] }
    let prefix = ReferenceKey.cascades(of: state, record: try row.recordNumber())
    var targets: [[UInt8]] = []
    var isIndexed = false
    try view.rows.forEachReference(under: prefix) { _, row in
      isIndexed = true
      var reader = ByteReader(row)
      while let (rule, target) = try PlacedReferences.next(&reader) {
        guard rule == .cascade else { continue }
        if let name = try localName(row.extracting(target), state) { targets.append(name) }
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

  /// The direct targets of a record's cascades, by its name; nil if the record is not alive.
  private func cascadesIfAlive(of name: [UInt8], _ state: StateNumber) throws -> [[UInt8]]? {
    let key = TableKey.record(state, name.span.bytes)
    view.footprint?.note(record: key.span)
    return try view.transaction.withValue(of: key.span, in: view.tables.records) { row in
      let row = StoredRow(row)
      return try view.alive(row, state) == nil ? nil : try cascades(of: row, state)
    } ?? nil
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

  /// Whether a record is visible in a state, by its name's UTF-8.
  private func isThere(_ name: [UInt8], _ state: StateNumber) throws -> Bool {
    switch view.fates[.init(state: state, name: name)] {
    case .there: return true
    case .gone: return false
    case nil: break
    }
    let key = TableKey.record(state, name.span.bytes)
    view.footprint?.note(record: key.span)
    let found = try view.transaction.withValue(of: key.span, in: view.tables.records) {
      row -> RecordFates.Fate? in
      let row = StoredRow(row)
      guard try view.alive(row, state) != nil else { return nil }
      return try missingTarget(of: row, state).map { .gone(missing: $0) } ?? .there
    }
    let fate = (found ?? nil) ?? .gone(missing: name)
    view.fates.remember(fate, of: [name], state)
    if case .there = fate { return true }
    return false
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

  /// The references to a record from visible records of a zone, in the order of names, fields, kinds and
  /// rules.
  func holders(of target: RecordID, in zone: ZoneID) throws -> [Holder] {
    let state = try view.state(of: zone)
    view.footprint?.note(allOf: state)
    var found: [(name: [UInt8], field: Name, cell: CellNumber, rule: ReferenceRule)] = []
    // A reference within the zone may name it, or not.
    for named in zone == target.zone ? [nil, zone] : [target.zone] {
      let reference = Reference(zone: named, record: target.name)
      // The zone's log has no reference that it cannot name.
      guard let bytes = try? reference.stated(inLogOf: zone).encodedTarget() else { continue }
      let prefix = ReferenceKey.holders(of: bytes.span.bytes, in: state)
      try view.rows.forEachReference(under: prefix) { key, row in
        let name = row.bytes
        guard try isThere(name, state) else { return true }
        let (rule, cell) = try ReferenceKey.holder(in: key, after: prefix)
        found.append((name, try view.name(cell.field), cell, rule))
        return true
      }
    }
    found.sort { a, b in
      if a.name != b.name { return a.name.lexicographicallyPrecedes(b.name) }
      if a.field != b.field { return a.field < b.field }
      return (a.cell, a.rule.rawValue) < (b.cell, b.rule.rawValue)
    }
    var holders: [Holder] = []
    holders.reserveCapacity(found.count)
    for (index, one) in found.enumerated() {
      // A list may name one record in several elements.
      if index > 0, found[index - 1] == one { continue }
      guard let kind = one.cell.kind else { continue }
      let name = try Name(utf8: one.name.span.bytes)
      holders.append(
        Holder(record: RecordID(zone: zone, name: name), field: one.field, kind: kind, rule: one.rule))
    }
    return holders
  }
}
