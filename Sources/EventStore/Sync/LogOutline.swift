package import OperationFormat

/// When the entries of a zone's remote log came there, and what its writers had seen of it: what decides which entries may go.
package struct LogOutline: Sendable {
  /// A lane of the log. A store and its copy may write lanes of one replica, so each counts.
  package struct Writer: Sendable {
    package var replica: ReplicaID
    /// The offset of its last segment that readers take; 0 if there is none.
    package var lastOffset: UInt64
    /// The offset up to which it had seen the log by then.
    package var base: UInt64

    package init(replica: ReplicaID, lastOffset: UInt64, base: UInt64) {
      (self.replica, self.lastOffset, self.base) = (replica, lastOffset, base)
    }
  }

  /// How many entries come before, of which the times are not known: they are as old as the first one that is.
  package var skipped: UInt64
  /// The receive time of each entry behind those, in milliseconds since 1970; nil if it states none.
  package var received: [UInt64?]
  package var writers: [Writer]

  package init(skipped: UInt64 = 0, received: [UInt64?], writers: [Writer]) {
    (self.skipped, self.received, self.writers) = (skipped, received, writers)
  }

  /// The log's last offset.
  package var end: UInt64 { skipped + UInt64(received.count) }

  /// What a store takes for now, in milliseconds since 1970: its wall clock, but at most the newest receive time. So neither a
  /// device nor a remote makes entries old by a wrong clock alone.
  package func now(at wallMilliseconds: Int64) -> UInt64 {
    min(UInt64(max(0, wallMilliseconds)), received.lazy.compactMap(\.self).max() ?? 0)
  }

  /// The last offset up to which all entries came by a time; 0 if the first came later.
  ///
  /// - Parameter times: ``times(at:)``.
  package func lastOffset(by time: UInt64, _ times: [UInt64]) -> UInt64 {
    let count = UInt64(times.prefix { $0 <= time }.count)
    return count == 0 ? 0 : skipped + count
  }

  /// The time of the entry at an offset, from 1.
  ///
  /// - Parameter times: ``times(at:)``.
  package func time(at offset: UInt64, _ times: [UInt64]) -> UInt64 {
    offset > skipped ? times[Int(offset - skipped) - 1] : times.first ?? .max
  }

  /// The time of each entry that is not skipped, at the earliest that it can be: too late only keeps it.
  ///
  /// It came after the entries before it, whatever it states. A time that is ahead of now says nothing. Where an entry states
  /// none, it came before the next one that does; without that it is young.
  ///
  /// - Parameter now: in milliseconds since 1970.
  package func times(at now: UInt64) -> [UInt64] {
    var latest: UInt64 = 0
    var times = received.map { received -> UInt64? in
      guard let received, received <= now &+ HybridClock.maxDriftMilliseconds else { return nil }
      latest = max(latest, received)
      return latest
    }
    var next = UInt64.max
    for index in times.indices.reversed() {
      next = times[index] ?? next
      times[index] = next
    }
    return times.map { $0 ?? next }
  }

  /// The writers that have written after a time, and had not seen the log up to an offset by then.
  ///
  /// - Parameters:
  ///   - time: in milliseconds since 1970.
  ///   - times: of each entry: see ``times(at:)``.
  package func writers(behind offset: UInt64, after time: UInt64, _ times: [UInt64]) -> [Writer] {
    writers.filter { $0.lastOffset > 0 && self.time(at: $0.lastOffset, times) > time && $0.base < offset }
  }

  /// The last offset of each replica's writers.
  var lastOffsets: [ReplicaID: UInt64] {
    writers.reduce(into: [:]) { $0[$1.replica] = max($0[$1.replica] ?? 0, $1.lastOffset) }
  }
}

extension ReadTransaction {
  /// The outline of a zone's remote log up to where it was read; nil if the store has not read the log of that incarnation.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the log's entries and writers
  package func logOutline(of zone: ZoneID, _ incarnation: IncarnationID) throws -> LogOutline? {
    let (number, row) = try view.zones.visible(zone)
    guard let token = row.token, try view.incarnations.identity(of: token.incarnation) == incarnation else {
      return nil
    }
    var skipped: UInt64 = 0
    var received: [UInt64?] = []
    try view.segments.forEach(in: number, token.incarnation, upTo: token.offset) { offset, row in
      if offset != skipped + UInt64(received.count) + 1 { (skipped, received) = (offset - 1, []) }
      received.append(row.receivedMilliseconds)
    }
    guard skipped + UInt64(received.count) == token.offset else { return nil }
    var writers: [LogOutline.Writer] = []
    for lane in try view.lanes.countedLanes(of: number) {
      let (replica, epoch) = (lane.replica, lane.epoch)
      let last = try view.placements.lastPlaced(
        replica, epoch, in: number, token.incarnation, before: token.offset + 1)
      let place = try view.placements.placement(of: replica, epoch, last, in: number, token.incarnation)
      guard let offset = place?.offset else { continue }
      let id = try view.replicas.identity(of: replica)
      let base = try view.log.base(of: replica, epoch, last, in: number)
      let seen = base.flatMap { $0.incarnation == token.incarnation ? $0.offset : nil } ?? 0
      // This store has seen all of it.
      let isOwn = id == identity.replica && epoch == row.ownEpoch(identity)
      writers.append(
        LogOutline.Writer(replica: id, lastOffset: offset, base: isOwn ? token.offset : seen))
    }
    return LogOutline(skipped: skipped, received: received, writers: writers)
  }
}
