import LMDB
import OperationFormat

/// One state of a store, to read records from: with what it has met of zones and names, so that a record costs the
/// look-up of its row alone.
///
/// Not `Sendable`: it belongs to one thread at a time, as its transaction does.
final class ReadView: TableReading {
  let transaction: LMDBTransaction
  let tables: Tables
  let interned: Interned

  // No access meets another, so none is checked against others.
  @exclusivity(unchecked) private var knownZones = MetInOrder<ZoneID, StateNumber>()
  @exclusivity(unchecked) private var zonesOfStates = MetInOrder<StateNumber, ZoneID>()
  @exclusivity(unchecked) private var numbers = RecentNames()
  /// Names by number; nil for those that were not met.
  @exclusivity(unchecked) private var knownNames: [Name?] = []
  private static let namesMax: UInt32 = 1024
  /// What became of the records that others refer to by cascades or nullified references.
  @exclusivity(unchecked) var fates = RecordFates()

  init(_ transaction: consuming LMDBTransaction, tables: Tables, interned: Interned) {
    self.transaction = transaction
    self.tables = tables
    self.interned = interned
  }

  func zoneRowIfThere(_ zone: ZoneNumber) throws -> ZoneRow? { try zones.storedRow(of: zone) }

  /// The state that a zone's records are in.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  func state(of zone: ZoneID) throws -> StateNumber {
    let index = try zoneIndex(of: zone)
    return knownZones.entries[index].value
  }

  /// Which of the zones that were met it is: ``zone(at:)`` gives it back.
  func zoneIndex(of zone: ZoneID) throws -> Int {
    if let index = knownZones.index(of: zone) { return index }
    return knownZones.append(zone, try zones.visible(zone).row.state)
  }

  func zone(at index: Int) -> (id: ZoneID, state: StateNumber) {
    let (id, state) = knownZones.entries[index]
    return (id, state)
  }

  /// The zone whose records are in a state.
  func zone(of state: StateNumber) throws -> ZoneID {
    if let index = zonesOfStates.index(of: state) { return zonesOfStates.entries[index].value }
    let row = try transaction.withValue(of: TableKey.state(state).span, in: tables.states) {
      try StateRow($0)
    }
    guard let row, let zone = try zones.id(of: row.zone) else {
      throw StoreError(
        .damaged, "the state \(state.rawValue) belongs to no zone", hint: "run a verification of the store")
    }
    _ = zonesOfStates.append(state, zone)
    return zone
  }

  /// The number of a type's or field's name; nil if the store has not met it.
  func number(of name: Name) throws -> NameNumber? {
    if let number = numbers.number(of: name) { return number }
    let number = try names.number(of: name)
    if let number { numbers.remember(name, number) }
    return number
  }

  /// The name behind a number.
  func name(_ number: NameNumber) throws -> Name {
    let index = Int(number.rawValue)
    if index < knownNames.count, let name = knownNames[index] { return name }
    let name = try names.identity(of: number)
    if number.rawValue < Self.namesMax {
      while knownNames.count <= index { knownNames.append(nil) }
      knownNames[index] = name
    }
    return name
  }
}
