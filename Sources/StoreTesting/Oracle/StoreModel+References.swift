import EventStore
import OperationFormat

/// What references do, found from all heads in the naive way, which follows every reference and every move each
/// time.
extension StoreModel {
  /// A record as it must read; nil if it is not alive, or a cascade hides it.
  func record(_ heads: RecordHeads, in zone: ZoneID) -> Record? {
    guard let type = aliveType(heads, in: zone), !isHidden(heads, in: zone) else { return nil }
    return Record(
      id: RecordID(zone: zone, name: heads.name), type: type,
      fields: heads.values { shown($0, in: zone, isInside: false) })
  }

  private func isHidden(_ heads: RecordHeads, in zone: ZoneID) -> Bool {
    leadToMissing(cascades(heads, in: zone))
  }

  /// Whether one of some records is not there, or one that cascades and moves lead to from there.
  private func leadToMissing(_ records: [RecordID]) -> Bool {
    var reached: Set<RecordID> = []
    var rest = records
    while let record = rest.popLast() {
      guard reached.insert(record).inserted, let target = heads(of: record) else { continue }
      if aliveType(target, in: record.zone) != nil {
        rest += cascades(target, in: record.zone)
      } else if let copy = destination(target, in: record.zone) {
        // A copy that has not arrived was not deleted.
        if existence(of: copy)?.existence.isEmpty == false { rest.append(copy) }
      } else {
        return true
      }
    }
    return false
  }

  /// The records of the zone that the values of a record name by cascades.
  private func cascades(_ heads: RecordHeads, in zone: ZoneID) -> [RecordID] {
    heads.references.map(\.reference).filter { $0.rule == .cascade }.map { $0.target(from: zone) }
      .filter { $0.zone == zone }
  }

  /// What a value reads, nil for a reference that is nullified.
  private func shown(_ value: Value, in zone: ZoneID, isInside: Bool) -> Value? {
    switch value {
    case .reference(let reference):
      let target = reference.target(from: zone)
      guard reference.rule == .nullify, target.zone == zone, leadToMissing([target]) else { return value }
      return isInside ? .null : nil
    case .array(let elements): return .array(elements.compactMap { shown($0, in: zone, isInside: true) })
    case .map(let entries): return .map(entries.compactMapValues { shown($0, in: zone, isInside: true) })
    default: return value
    }
  }

  // MARK: Moves

  /// Where a record was moved that is not alive: by the greatest head that lets it be dead.
  private func destination(_ heads: RecordHeads, in zone: ZoneID) -> RecordID? {
    guard aliveType(heads, in: zone) == nil else { return nil }
    let dead = heads.existence.map(\.content).first { if case .alive = $0 { false } else { true } }
    guard case .moved(let place)? = dead, place.name == heads.name, place.zone != zone else { return nil }
    return place
  }

  /// The places that a record had one after the other, from one on; the last one is where it is now. It ends before
  /// a place that it has passed.
  private func way(from record: RecordID) -> [RecordID] {
    var way = [record]
    while let last = way.last, let found = existence(of: last), let next = destination(found, in: last.zone),
      !way.contains(next)
    {
      way.append(next)
    }
    return way
  }

  /// Where a record is.
  func place(of record: RecordID) -> RecordPlace {
    let way = way(from: record)
    let last = way[way.count - 1]
    guard let found = heads(of: last) else { return .elsewhere(last) }
    if self.record(found, in: last.zone) != nil { return .here(last) }
    // A copy that has not arrived, or one whose way leads back.
    if found.existence.isEmpty, way.count > 1 { return .elsewhere(last) }
    return destination(found, in: last.zone).map { .elsewhere($0) } ?? .nowhere(last)
  }

  /// The records that moved away from a zone and are not there.
  func forwardings(in zone: ZoneID) -> [Forwarding] {
    allHeads(in: zone).compactMap { heads in
      destination(heads, in: zone).map {
        Forwarding(from: RecordID(zone: zone, name: heads.name), to: $0, place: place(of: $0))
      }
    }
  }

  /// The references of visible records to each record of a zone, or to a place from which its way led to where it
  /// is.
  func holders(in zone: ZoneID) -> [Name: [Holder]] {
    var found: [Name: Set<Holder>] = [:]
    for (holder, heads) in allHeads() where record(heads, in: holder) != nil {
      for (field, reference) in heads.references {
        let target = reference.target(from: holder)
        for passed in way(from: target) where passed.zone == zone {
          found[passed.name, default: []].insert(
            Holder(
              record: RecordID(zone: holder, name: heads.name), field: field.name, kind: field.kind,
              rule: reference.rule, target: target))
        }
      }
    }
    return found.mapValues { holders in
      holders.sorted { a, b in
        if a.record != b.record { return a.record < b.record }
        if a.field != b.field { return a.field < b.field }
        return (a.kind.rawValue, a.rule.rawValue, a.target) < (b.kind.rawValue, b.rule.rawValue, b.target)
      }
    }
  }
}

extension RecordHeads {
  /// The references in the values that the record shows in cells where references count.
  fileprivate var references: [(field: Field, reference: Reference)] {
    fields.flatMap { field in
      var references: [Reference] = []
      for value in field.kind.model.referringValues(of: field) { value.appendReferences(to: &references) }
      return references.map { (field, $0) }
    }
  }
}
