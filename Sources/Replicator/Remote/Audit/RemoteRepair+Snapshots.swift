internal import EventStore
internal import OperationFormat

/// Putting back what is damaged or lost of snapshots.
extension RemoteRepair {
  /// Puts back the parts and manifests of snapshots that stores begin with, if the store has the same snapshot or can make it
  /// again: of one place of a log all stores make the same content. A name that cannot be read gets another snapshot.
  ///
  /// What is damaged is replaced: nothing reads it, and its hash proves what stands there then. Other snapshots, also those
  /// that were removed as others followed, stay as they are.
  ///
  /// Where a log begins with a damaged snapshot, the next call, with a new audit, may put back more: only then it is known which
  /// log it is.
  ///
  /// - Parameter audit: of the remote as it is now.
  package mutating func repairSnapshots(_ audit: RemoteAudit) async throws {
    for log in audit.logs where log.fate == nil {
      let named: [RemoteSnapshot]
      do throws(RemoteError) {
        named = try await remote.snapshots(of: log.zone, log.incarnation) ?? []
      } catch {
        // The audit reports it.
        guard error.isAboutOneObject || Self.entryCodes.contains(error.code) else { throw error }
        continue
      }
      try await repairNames(log, named)
      for snapshot in named {
        var name = ObjectName.snapshotManifest(of: snapshot)
        let outcome: Outcome
        do {
          guard let broken = try await broken(of: snapshot, log) else { continue }
          name = broken
          outcome = try await repair(snapshot, log)
        } catch let error as StoreError {
          outcome = Self.outcome(of: error)
        } catch let error as RemoteError where error.isAboutOneObject || Self.entryCodes.contains(error.code)
        {
          outcome = .refused("\(error.message); \(error.hint)")
        }
        note(
          SnapshotStep(
            name: name, snapshot: snapshot, outcome: outcome, isBegin: log.begins(with: snapshot)))
      }
    }
  }

  /// Lets names of snapshots that cannot be read name one that has a name. They are numbered without a gap, so none can go.
  private mutating func repairNames(_ log: AuditedLog, _ named: [RemoteSnapshot]) async throws(RemoteError) {
    guard let snapshot = named.first else { return }
    let numbers: [UInt64]
    do throws(RemoteError) {
      numbers = try await remote.snapshotNames.unreadable(of: log.incarnation)
    } catch {
      // Something else is in the place of their directory: the audit reports it.
      guard Self.entryCodes.contains(error.code) else { throw error }
      return
    }
    for number in numbers {
      let name = ObjectName.snapshotName(number, of: log.incarnation)
      var outcome = Outcome.putBack
      do throws(RemoteError) {
        try await remote.objects.overwrite(name, SnapshotNames.encode(snapshot))
      } catch {
        guard Self.entryCodes.contains(error.code) else { throw error }
        outcome = .refused("\(error.message); \(error.hint)")
      }
      note(SnapshotStep(name: name, snapshot: snapshot, outcome: outcome, isBegin: false))
    }
  }

  /// Why the store cannot make a snapshot.
  private static func outcome(of error: StoreError) -> Outcome {
    switch error.code {
    case .zoneUnknown: .notInStore
    case .retired: .retired
    default: .refused("the store cannot make it: \(error.message)")
    }
  }

  /// What is missing, damaged or wrong of a snapshot that was not removed; nil if nothing is.
  private func broken(
    of snapshot: RemoteSnapshot, _ log: AuditedLog
  ) async throws(RemoteError) -> ObjectName? {
    guard
      try await remote.objects.exists(.snapshotManifest(of: snapshot)) || log.begins(with: snapshot)
    else { return nil }
    if case .broken(let name) = try await SnapshotReader(remote).read(snapshot, in: log) { return name }
    return nil
  }

  private func repair(_ snapshot: RemoteSnapshot, _ log: AuditedLog) async throws -> Outcome {
    let known = try await remote.snapshotManifest(of: snapshot)
    let outcome = try await store.withSnapshotAgain(
      of: snapshot.zone, snapshot.incarnation, at: snapshot.offset
    ) { made, part -> Outcome in
      // Then what the store makes is right, whatever the remote has.
      var isRight = !log.disproves(made)
      if isRight, known?.content != made.content { isRight = try await isOfLog(made, log) }
      guard isRight else {
        return .refused("nothing of the remote says that the store has read the same log up to there")
      }
      for index in made.parts.indices where try await isPartBroken(index, of: snapshot, made) {
        try await remote.putSnapshotPart(part(index), at: index, of: snapshot)
      }
      // Last, as by its maker: then it is whole.
      if known != made { try await remote.finishSnapshot(made, of: snapshot) }
      return .putBack
    }
    return outcome ?? .notInStore
  }

  private func isPartBroken(
    _ index: Int, of snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws -> Bool {
    guard let stored = try await remote.snapshotPart(at: index, of: snapshot) else { return true }
    return (try? manifest.parts[index].unpack(stored.span.bytes)) == nil
  }

  /// Whether a snapshot is of the log that the remote has: its entry there, or where the log begins, has the same hash, and as
  /// far as that is known the log's chain there.
  private func isOfLog(_ manifest: SnapshotManifest, _ log: AuditedLog) async throws -> Bool {
    if let hasEntry = log.hasEntry(of: manifest) { return hasEntry }
    guard let floor = try await remote.entries.floors.floor(of: log.incarnation) else { return false }
    return floor.offset == manifest.offset && floor.hash == manifest.hash && floor.chain == manifest.chain
  }
}
