internal import EventStore
internal import OperationFormat

/// Checking the snapshots of a log, and their names.
extension LogAuditor {
  /// Checks the snapshots of an open log: stores begin with the newest that they can read.
  ///
  /// - Parameter objects: those of the log that were listed.
  mutating func checkSnapshots(_ listed: [ObjectEntry]) async throws(RemoteError) {
    guard log.fate == nil, let objects else { return }
    let named: [RemoteSnapshot]
    do throws(RemoteError) {
      named = try await remote.snapshots(of: log.zone, log.incarnation) ?? []
    } catch {
      // Something else is in the place of the log's directory, which was reported, or this user may not read it.
      guard error.isAboutOneLog else { throw error }
      return
    }
    var used: [RemoteSnapshot] = []
    for snapshot in named {
      let name = ObjectName.snapshotManifest(of: snapshot)
      do throws(RemoteError) {
        // One of which nothing is left was removed.
        guard try await objects.objects.exists(name) || log.begins(with: snapshot) else { continue }
        used.append(snapshot)
        switch try await SnapshotReader(remote).read(snapshot, in: log) {
        case .whole(let manifest): log.snapshots.append((snapshot, manifest))
        case .broken(let part): problems.append(try await broken(snapshot, part, objects))
        }
      } catch {
        guard error.isAboutOneLog else { throw error }
        problems.append(AuditProblem("\(name)", "\(error)", isDenied: error.code == .denied))
      }
    }
    log.findUnnamedSnapshots(listed, besides: used)
    try await checkNames(objects)
  }

  private func broken(
    _ snapshot: RemoteSnapshot, _ part: ObjectName, _ objects: ObjectRemote
  ) async throws(RemoteError) -> AuditProblem {
    let isBegin = log.begins(with: snapshot)
    let what =
      if try await objects.objects.hasForeign(part) {
        "something foreign has its name: move that away, and put the file back"
      } else if part == .snapshotManifest(of: snapshot),
        try await remote.snapshotManifest(of: snapshot) != nil
      {
        "it does not say what its snapshot and the log have"
      } else {
        "it is missing or damaged"
      }
    return AuditProblem(
      "\(part)",
      "\(what). So nobody can begin with the snapshot at offset \(snapshot.offset): "
        + (isBegin ? "the log begins there" : "stores begin with another, or read the log"),
      brokenSnapshot: isBegin ? .begin : .other)
  }

  /// Checks the names of snapshots. Readers pass over one that cannot be read.
  private mutating func checkNames(_ objects: ObjectRemote) async throws(RemoteError) {
    do throws(RemoteError) {
      for number in try await objects.snapshotNames.unreadable(of: log.incarnation) {
        problems.append(
          AuditProblem(
            "\(ObjectName.snapshotName(number, of: log.incarnation))",
            "it is damaged, or foreign, and names no snapshot: stores pass over it. If a repair does not mend it, put a copy of "
              + "another file of its directory in its place"))
      }
    } catch {
      guard error.code == .damaged || error.code == .denied else { throw error }
      // In the place of the log's directory it was reported.
      guard log.lastOffset != nil else { return }
      problems.append(
        AuditProblem(
          "\(ObjectName.log(of: log.incarnation))", "\(error)", isDenied: error.code == .denied))
    }
  }
}
