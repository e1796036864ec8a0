internal import EventStore
internal import OperationFormat

/// Finding where a log begins.
extension LogAuditor {
  private var name: String { "\(ObjectName.log(of: log.incarnation))" }

  /// The place from which on the log is read; nil if it cannot be read.
  mutating func begin() async throws -> ChangeToken? {
    let start = ChangeToken.start(of: log.zone, log.incarnation)
    guard let objects else { return start }
    let floors = objects.entries.floors
    var floor: LogFloor?
    do throws(RemoteError) {
      floor = try await floors.floor(of: log.incarnation)
      log.first = floor?.offset ?? 1
    } catch {
      guard error.isAboutOneObject else { throw error }
      guard let first = try await firstWithoutFloor(floors) else { return nil }
      noteBegin(at: first, "\(error)")
    }
    if floor == nil, !log.isFloorLost {
      guard let found = try await snapshotInsteadOfEntries(objects.objects) else { return start }
      // Another may have trimmed it meanwhile.
      if try await floors.floor(of: log.incarnation) != nil { return try await begin() }
      let first = found.manifest.offset
      noteBegin(
        at: first,
        "its first entry is at offset \(first), and a snapshot stands there for those before, but nothing says so any more: "
          + "`replay trim REMOTE --write` writes it again")
      return begin(with: found)
    }
    log.isTrimmed = true
    let snapshots = (try await remote.snapshots(of: log.zone, log.incarnation) ?? [])
      .sorted { $0.offset < $1.offset }
    let firstThere = try await firstEntry(objects.objects)
    if let floor, let first = firstThere, first > floor.offset + (floor.hasEntry ? 0 : 1),
      let found = try await readable(snapshots.filter { $0.offset == first }, nil)
    {
      if try await floors.floor(of: log.incarnation) != floor { return try await begin() }
      noteBegin(
        at: first,
        "the last file that says where it begins says offset \(floor.offset), its first entry is at offset \(first), and a "
          + "snapshot stands there for those before: `replay trim REMOTE --write` writes that again")
      return begin(with: found)
    }
    // The snapshot there; else the next one after it, but then nothing says what was between them.
    let found = try await readable(snapshots.filter { $0.offset >= log.first }, floor)
    if let found, found.manifest.offset == log.first { return begin(with: found) }
    if let floor, let first = firstThere, first <= floor.offset {
      if first == 1 {
        noteWrong(floor, try await floors.last(of: log.incarnation), first)
        return start
      }
      if let former = try await readable(snapshots.filter { $0.offset == first }, nil) {
        noteWrong(floor, try await floors.last(of: log.incarnation), first)
        return begin(with: former)
      }
    }
    guard let found else {
      problems.append(
        AuditProblem(
          name, "it begins at offset \(log.first), and has no snapshot from there on that can be read"))
      (log.isReadable, log.isBeginRead) = (false, false)
      return nil
    }
    problems.append(
      AuditProblem(
        name,
        "it begins at offset \(log.first), and the snapshot there cannot be read: what is before offset "
          + "\(found.manifest.offset) was not checked"))
    log.isBeginRead = false
    return begin(with: found)
  }

  /// The snapshot at the first entry that is there, in a log without a floor that lacks the entries before; nil if there is
  /// none.
  private func snapshotInsteadOfEntries(
    _ objects: any ObjectStore
  ) async throws(RemoteError) -> (manifest: SnapshotManifest, head: SnapshotHead)? {
    guard let first = try await firstEntry(objects), first > 1 else { return nil }
    do throws(RemoteError) {
      let named = try await remote.snapshots(of: log.zone, log.incarnation) ?? []
      return try await readable(named.filter { $0.offset == first }, nil)
    } catch {
      guard error.isAboutOneLog else { throw error }
      return nil
    }
  }

  /// The offset of the first entry that is there; nil if there is none, which is a problem then.
  private mutating func firstWithoutFloor(_ floors: LogFloors) async throws(RemoteError) -> UInt64? {
    do throws(RemoteError) {
      return try await floors.first(of: log.incarnation)
    } catch {
      guard error.code == .expired else { throw error }
      problems.append(AuditProblem(name, error.message))
      (log.isReadable, log.isBeginRead) = (false, false)
      return nil
    }
  }

  /// The offset of the first entry that is there; nil if there is none, or if that cannot be told: reading the log shows why.
  private func firstEntry(_ objects: any ObjectStore) async throws(RemoteError) -> UInt64? {
    do throws(RemoteError) {
      return try await objects.firstEntry(of: log.incarnation)
    } catch {
      guard error.isAboutOneLog else { throw error }
      return nil
    }
  }

  /// The first of the snapshots that can be read.
  ///
  /// - Parameter floor: with the entry that it says; nil for any.
  private func readable(
    _ snapshots: [RemoteSnapshot], _ floor: LogFloor?
  ) async throws(RemoteError) -> (manifest: SnapshotManifest, head: SnapshotHead)? {
    for snapshot in snapshots {
      guard let found = try await SnapshotReader(remote).head(of: snapshot),
        floor.flatMap({ floor in found.head.hash(at: floor.offset).map { $0 == floor.hash } }) ?? true
      else { continue }
      return found
    }
    return nil
  }

  /// Notes that no snapshot stands for what is before a floor, and that the log has more.
  ///
  /// - Parameter number: that of the floor.
  private mutating func noteWrong(_ floor: LogFloor, _ number: UInt64, _ first: UInt64) {
    noteBegin(
      at: first,
      "\(ObjectName.floor(number, of: log.incarnation)) says that it begins at offset \(floor.offset) with a snapshot, which "
        + "cannot be read. But it has what is from offset \(first) on: `replay trim REMOTE --write` lets it begin there again"
    )
    log.wrongFloor = floor
  }

  /// Notes where the log begins by what is there, and why nothing says that.
  private mutating func noteBegin(at first: UInt64, _ problem: String) {
    problems.append(AuditProblem(name, problem, isAboutFloor: true))
    (log.first, log.isTrimmed, log.isFloorLost) = (first, first > 1, true)
  }

  private mutating func begin(with found: (manifest: SnapshotManifest, head: SnapshotHead)) -> ChangeToken {
    let (manifest, head) = found
    log.begin(with: head)
    log.note(floor: head.floor, at: manifest.offset)
    rules = LaneRules(after: head)
    return ChangeToken(
      zone: log.zone, incarnation: log.incarnation, offset: manifest.offset, hash: manifest.hash,
      chain: manifest.chain)
  }
}
