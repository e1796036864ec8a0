internal import OperationFormat

/// The logs that a list of zones names, without the names: for each its incarnation, its zone, and why it is
/// closed. A log costs some fifty bytes, whatever the names of its zone.
struct ZoneLogs: Sendable {
  /// What identifies a zone here: the first half of the SHA-256 of its name. Nobody can find a name that
  /// shares it with the zone of another.
  struct ZoneKey: Hashable, Sendable {
    fileprivate let bits: UInt128

    fileprivate init(bits: UInt128) { self.bits = bits }

    init(_ zone: ZoneID) {
      var writer = ByteWriter()
      writer.append(name: zone.owner)
      writer.append(name: zone.name)
      let hash = ContentHash(of: writer.span)
      bits = hash.bytes.prefix(16).reduce(0) { $0 << 8 | UInt128($1) }
    }
  }

  /// The log of one incarnation of a zone.
  struct Log: Hashable, Sendable {
    var zone: ZoneKey
    /// Why it is closed; nil while it is open.
    var fate: ZoneFate?
  }

  // A row for each log, in columns: so it has no padding.
  private var incarnations: [UInt128] = []
  private var zones: [UInt128] = []
  private var fates: [ZoneFate?] = []
  private var byIncarnation: RowTable
  /// The last log of each zone that was made.
  private var byZone: RowTable

  /// - Parameter hash: gives the place of a key in a table.
  init(hash: @escaping @Sendable (UInt128) -> Int = RowTable.seededHash) {
    byIncarnation = RowTable(hash: hash)
    byZone = RowTable(hash: hash)
  }

  var count: Int { incarnations.count }

  /// The bytes that it holds.
  var heldBytes: Int {
    incarnations.capacity * MemoryLayout<UInt128>.stride + zones.capacity * MemoryLayout<UInt128>.stride
      + fates.capacity * MemoryLayout<ZoneFate?>.stride + byIncarnation.heldBytes + byZone.heldBytes
  }

  // MARK: Reading

  func log(_ incarnation: IncarnationID) -> Log? {
    guard let row = row(of: incarnation) else { return nil }
    return Log(zone: ZoneKey(bits: zones[row]), fate: fates[row])
  }

  /// The open log of a zone; nil if it has none.
  func openLog(of zone: ZoneKey) -> IncarnationID? {
    guard let row = byZone.row(of: zone.bits, in: zones), fates[row] == nil else { return nil }
    return IncarnationID(rawValue: incarnations[row])
  }

  /// Whether a log of a zone was ever made.
  func hasHad(_ zone: ZoneKey) -> Bool { byZone.row(of: zone.bits, in: zones) != nil }

  private func row(of incarnation: IncarnationID) -> Int? {
    byIncarnation.row(of: incarnation.rawValue, in: incarnations)
  }

  // MARK: Changing

  /// Makes the log of a zone.
  ///
  /// - Precondition: no log has the incarnation, and the zone has no open one.
  mutating func make(_ incarnation: IncarnationID, of zone: ZoneKey) {
    precondition(openLog(of: zone) == nil, "the zone has an open log")
    add(incarnation, zone, nil)
    byZone.set(zone.bits, to: count - 1, in: zones)
  }

  /// Adds a log of which only the end is known.
  ///
  /// - Precondition: no log has the incarnation.
  mutating func addClosed(_ incarnation: IncarnationID, of zone: ZoneKey, _ fate: ZoneFate) {
    add(incarnation, zone, fate)
  }

  /// Closes an open log.
  ///
  /// - Precondition: there is the log, and it is open.
  mutating func close(_ incarnation: IncarnationID, _ fate: ZoneFate) {
    guard let row = row(of: incarnation), fates[row] == nil else {
      preconditionFailure("only an open log can be closed")
    }
    fates[row] = fate
  }

  /// Opens a closed log again.
  ///
  /// - Precondition: there is the log, and its zone has no open one.
  mutating func reopen(_ incarnation: IncarnationID) {
    guard let row = row(of: incarnation), fates[row] != nil else {
      preconditionFailure("only a closed log can be opened")
    }
    fates[row] = nil
    byZone.set(zones[row], to: row, in: zones)
  }

  private mutating func add(_ incarnation: IncarnationID, _ zone: ZoneKey, _ fate: ZoneFate?) {
    precondition(row(of: incarnation) == nil, "a log has the incarnation already")
    incarnations.appendFrugally(incarnation.rawValue)
    zones.appendFrugally(zone.bits)
    fates.appendFrugally(fate)
    byIncarnation.set(incarnation.rawValue, to: count - 1, in: incarnations)
  }
}

extension Array {
  /// Appends an element, and keeps less room for others than an array does by itself.
  ///
  /// - Complexity: amortized O(1)
  fileprivate mutating func appendFrugally(_ element: Element) {
    if count == capacity { reserveCapacity(count + Swift.max(count / 8, 16)) }
    append(element)
  }
}
