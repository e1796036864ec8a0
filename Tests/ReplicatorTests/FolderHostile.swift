import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#endif

/// A folder with a zone `notes` of three segments and a zone `lists` of two, and ways to damage it.
struct HostileFolder {
  static let notes = ZoneID(name: "notes")
  static let lists = ZoneID(name: "lists")

  let directory = TemporaryDirectory()
  let path: String
  let incarnations: [ZoneID: IncarnationID]
  private(set) var makers: [ZoneID: SegmentMaker] = [:]
  private(set) var segments: [ZoneID: [PackedSegment]] = [:]

  init() async throws {
    path = directory.path + "/remote"
    let remote = try await FolderRemote.create(directory: path)
    var incarnations: [ZoneID: IncarnationID] = [:]
    for (index, zone) in [Self.notes, Self.lists].enumerated() {
      let incarnation = try await remote.createZone(
        zone, proposing: IncarnationID(rawValue: UInt128(index + 10)))
      incarnations[zone] = incarnation
      var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
      for offset in 0..<UInt64(3 - index) {
        let segment = try maker.next()
        _ = try await remote.append(segment, after: offset)
        segments[zone, default: []].append(segment)
      }
      makers[zone] = maker
    }
    self.incarnations = incarnations
  }

  /// The path of an entry of `notes`.
  func entry(_ offset: UInt64, of zone: ZoneID = notes) -> String {
    "\(path)/\(ObjectName.entry(of: incarnations[zone]!, offset))"
  }

  func bytes(_ path: String) -> [UInt8] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return Array(bytes[..<count])
  }

  func write(_ bytes: [UInt8], _ path: String) {
    unlink(path)
    let file = fopen(path, "w")!
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  /// Every file with its bytes, also links and directories.
  func contents() async throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    for entry in try await FolderRemote.open(directory: path).objects.list() {
      contents[entry.path] = entry.bytes == nil ? [] : bytes("\(path)/\(entry.path)")
    }
    return contents
  }

  /// What a new reader gets from a zone.
  func read(_ zone: ZoneID, after offset: UInt64 = 0) async -> Result<FetchOutcome, RemoteError> {
    do throws(RemoteError) {
      let remote = try await FolderRemote.open(directory: path)
      var token = ChangeToken.start(of: zone, incarnations[zone]!)
      if offset > 0 {
        token.offset = offset
        token.chain = nil
        token.hash = segments[zone]![Int(offset) - 1].header.contentHash
      }
      return .success(try await remote.segments(after: token, bytesMax: 1 << 20))
    } catch {
      return .failure(error)
    }
  }

  /// How many segments of a zone a new reader gets; nil if it gets an error.
  func count(_ zone: ZoneID) async -> Int? {
    guard case .success(.segments(let page, _)) = await read(zone) else { return nil }
    return page.count
  }

  func append(to zone: ZoneID = notes) async -> Result<AppendOutcome, any Error> {
    do {
      var maker = makers[zone]!
      return .success(try await FolderRemote.open(directory: path).append(try maker.next(), after: 0))
    } catch {
      return .failure(error)
    }
  }
}

/// A way to damage the folder: the damage, and the error for the second segment of `notes`.
struct HostileCase: CustomTestStringConvertible, Sendable {
  var name: String
  var code: RemoteError.Code
  var damage: @Sendable (HostileFolder) -> Void
  var testDescription: String { name }
}

@Suite("A folder that others have touched")
struct FolderHostile {
  static let entryCases: [HostileCase] = [
    HostileCase(name: "an empty file", code: .damagedSegment) { $0.write([], $0.entry(2)) },
    HostileCase(name: "half a file", code: .damagedSegment) { folder in
      let bytes = folder.bytes(folder.entry(2))
      folder.write(Array(bytes[..<(bytes.count / 2)]), folder.entry(2))
    },
    HostileCase(name: "a file without its last byte", code: .damagedSegment) { folder in
      folder.write(folder.bytes(folder.entry(2)).dropLast(), folder.entry(2))
    },
    HostileCase(name: "a file with a byte more", code: .damagedSegment) { folder in
      folder.write(folder.bytes(folder.entry(2)) + [0], folder.entry(2))
    },
    HostileCase(name: "as many zeros", code: .damagedSegment) { folder in
      folder.write([UInt8](repeating: 0, count: folder.bytes(folder.entry(2)).count), folder.entry(2))
    },
    HostileCase(name: "a text", code: .damagedSegment) { $0.write(Array("placeholder".utf8), $0.entry(2)) },
    HostileCase(name: "the segment without its envelope", code: .damagedSegment) { folder in
      folder.write(folder.segments[HostileFolder.notes]![1].bytes, folder.entry(2))
    },
    HostileCase(name: "the file of another offset", code: .damagedSegment) { folder in
      folder.write(folder.bytes(folder.entry(3)), folder.entry(2))
    },
    HostileCase(name: "the file of another zone", code: .damagedSegment) { folder in
      folder.write(folder.bytes(folder.entry(2, of: HostileFolder.lists)), folder.entry(2))
    },
    HostileCase(name: "an event of the list", code: .damagedSegment) { folder in
      folder.write(folder.bytes("\(folder.path)/\(ObjectName.zoneEvent(2))"), folder.entry(2))
    },
    HostileCase(name: "a seal of another offset", code: .damagedSegment) { folder in
      folder.write(LogSeal(offset: 3, kind: .deleted).encode(), folder.entry(2))
    },
    HostileCase(name: "a flipped bit in the envelope", code: .damagedSegment) { folder in
      var bytes = folder.bytes(folder.entry(2))
      bytes[8] ^= 1
      folder.write(bytes, folder.entry(2))
    },
    HostileCase(name: "a flipped bit in the header", code: .damagedSegment) { folder in
      var bytes = folder.bytes(folder.entry(2))
      bytes[60] ^= 1
      folder.write(bytes, folder.entry(2))
    },
    HostileCase(name: "a symbolic link to the right file", code: .damagedSegment) { folder in
      rename(folder.entry(2), folder.directory.path + "/elsewhere")
      symlink(folder.directory.path + "/elsewhere", folder.entry(2))
    },
    HostileCase(name: "a symbolic link to nothing", code: .damagedSegment) { folder in
      unlink(folder.entry(2))
      symlink("/nothing/there", folder.entry(2))
    },
    HostileCase(name: "a pipe", code: .damagedSegment) { folder in
      unlink(folder.entry(2))
      mkfifo(folder.entry(2), 0o600)
    },
    HostileCase(name: "a directory", code: .damagedSegment) { folder in
      unlink(folder.entry(2))
      mkdir(folder.entry(2), 0o700)
    },
    HostileCase(name: "a link to a device", code: .damagedSegment) { folder in
      unlink(folder.entry(2))
      symlink("/dev/zero", folder.entry(2))
    },
    HostileCase(name: "a huge file", code: .damagedSegment) { folder in
      truncate(folder.entry(2), 1 << 40)
    },
  ]

  @Test(
    "a foreign entry is reported, reading waits, and appends go after it",
    arguments: entryCases)
  func entryIsTold(_ hostile: HostileCase) async throws {
    let folder = try await HostileFolder()
    hostile.damage(folder)
    let before = try await folder.contents()
    let first = await folder.count(HostileFolder.notes)
    #expect(first == 1, "a page ends before the damage")
    guard case .failure(let error) = await folder.read(HostileFolder.notes, after: 1) else {
      Issue.record("it was read")
      return
    }
    #expect(error.code == hostile.code, "\(error)")
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
    let others = await folder.count(HostileFolder.lists)
    #expect(others == 2, "the other zone is read")
    unlink(folder.entry(4))
    let after = try await folder.contents()
    #expect(before == after, "nothing else was changed")
    // It works again after the repair.
    if rmdir(folder.entry(2)) != 0 { unlink(folder.entry(2)) }
    let segment = folder.segments[HostileFolder.notes]![1].bytes
    let span = segment.span
    let envelope = SegmentEnvelope.encode(
      offset: 2, receivedMilliseconds: nil, chain: nil, segment: span.bytes)
    folder.write(envelope, folder.entry(2))
    let repaired = await folder.count(HostileFolder.notes)
    #expect(repaired == 3)
  }

  @Test(
    "files of others beside ours are skipped",
    arguments: [
      "FILE (conflicted copy)", "FILE.tmp", ".FILE.swp", "FILE~", "FILE.icloud", "DIR/.DS_Store",
      "desktop.ini",
      "tmp/0123", "tmp/FILE", "zones/x", "logs/x", "logs/../y", "FILE\u{301}", "Thumbs.db", "DIR/zz",
      "remote.bak",
    ])
  func foreignFilesArePassedOver(_ pattern: String) async throws {
    let folder = try await HostileFolder()
    let name = ObjectName.entry(of: folder.incarnations[HostileFolder.notes]!, 4).description
    let parent = name.split(separator: "/").dropLast().joined(separator: "/")
    let last = String(name.split(separator: "/").last!)
    let path =
      pattern.contains("FILE")
      ? "\(pattern.hasPrefix("tmp") ? "" : parent + "/")" + pattern.replacing("FILE", with: last)
      : pattern.replacing("DIR", with: parent)
    folder.write([1, 2, 3], "\(folder.path)/\(path)")
    let (notes, lists) = (await folder.count(HostileFolder.notes), await folder.count(HostileFolder.lists))
    #expect(notes == 3)
    #expect(lists == 2)
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
  }

  static let rootCases: [HostileCase] = [
    HostileCase(name: "no root", code: .unreachable) { rename($0.path, $0.path + "-away") },
    HostileCase(name: "an empty root", code: .notARemote) { folder in
      rename(folder.path, folder.path + "-away")
      mkdir(folder.path, 0o700)
    },
    HostileCase(name: "a file as root", code: .notARemote) { folder in
      rename(folder.path, folder.path + "-away")
      folder.write([1], folder.path)
    },
    HostileCase(name: "no marker", code: .notARemote) { unlink($0.path + "/remote") },
    HostileCase(name: "an empty marker", code: .notARemote) { $0.write([], $0.path + "/remote") },
    HostileCase(name: "a foreign marker", code: .notARemote) {
      $0.write(Array("hello".utf8), $0.path + "/remote")
    },
    HostileCase(name: "a newer marker", code: .newerFormat) { folder in
      folder.write(newerMarker(folder.bytes(folder.path + "/remote")), folder.path + "/remote")
    },
    HostileCase(name: "a cut marker", code: .damaged) { folder in
      folder.write(Array(folder.bytes(folder.path + "/remote")[..<20]), folder.path + "/remote")
    },
    HostileCase(name: "a marker with a flipped bit", code: .damaged) { folder in
      var bytes = folder.bytes(folder.path + "/remote")
      bytes[10] ^= 1
      folder.write(bytes, folder.path + "/remote")
    },
    HostileCase(name: "a marker that is a link", code: .damaged) { folder in
      rename(folder.path + "/remote", folder.path + "/other")
      symlink("other", folder.path + "/remote")
    },
    HostileCase(name: "no list of zones", code: .damaged) { rename($0.path + "/zones", $0.path + "-zones") },
    HostileCase(name: "a file as list of zones", code: .damaged) { folder in
      rename(folder.path + "/zones", folder.path + "-zones")
      folder.write([1], folder.path + "/zones")
    },
  ]

  @Test("a folder that is not the remote stops everything, and is left as it is", arguments: rootCases)
  func rootIsTold(_ hostile: HostileCase) async throws {
    let folder = try await HostileFolder()
    hostile.damage(folder)
    let create = await #expect(throws: RemoteError.self) {
      try await FolderRemote.open(directory: folder.path).createZone(
        ZoneID(name: "new"), proposing: IncarnationID(rawValue: 99))
    }
    #expect(create?.code == hostile.code, "\(String(describing: create))")
    guard case .failure(let error) = await folder.read(HostileFolder.notes) else {
      Issue.record("it was read")
      return
    }
    #expect(error.code == hostile.code, "\(error)")
    guard case .failure(let refusal as RemoteError) = await folder.append() else {
      Issue.record("something was appended")
      return
    }
    #expect(refusal.code == hostile.code, "\(refusal)")
  }

  static let eventCases: [HostileCase] = [
    HostileCase(name: "a damaged event", code: .damaged) { folder in
      folder.write([1, 2], "\(folder.path)/\(ObjectName.zoneEvent(1))")
    },
    HostileCase(name: "an event of another place", code: .damaged) { folder in
      folder.write(
        folder.bytes("\(folder.path)/\(ObjectName.zoneEvent(2))"), "\(folder.path)/\(ObjectName.zoneEvent(1))"
      )
    },
  ]

  @Test("a foreign event stops only that event", arguments: eventCases)
  func eventIsTold(_ hostile: HostileCase) async throws {
    let folder = try await HostileFolder()
    let events = try await FolderRemote.open(directory: folder.path).zoneEvents(after: nil).events
    hostile.damage(folder)
    let remote = try await FolderRemote.open(directory: folder.path)
    let page = try await remote.zoneEvents(after: nil)
    #expect(page.events.isEmpty && page.later == Array(events[1...]) && page.token.offset == 0)
    #expect(page.problems.map(\.offset) == [1] && page.problems[0].failure.code == hostile.code.rawValue)
    // Another zone is created after it, and the zone of the event continues for those who know it.
    let made = IncarnationID(rawValue: 99)
    let incarnation = try await remote.createZone(ZoneID(name: "new"), proposing: made)
    #expect(incarnation == made)
    let notes = await folder.count(HostileFolder.notes)
    #expect(notes == 3)
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
  }

  @Test("an open remote notices that its disk is removed, replaced, and back again")
  func noticesMounts() async throws {
    let folder = try await HostileFolder()
    let remote = try await FolderRemote.open(directory: folder.path)
    let token = try await remote.zoneEvents(after: nil).token
    rename(folder.path, folder.path + "-away")
    let gone = await #expect(throws: RemoteError.self) { try await remote.zoneEvents(after: token) }
    #expect(gone?.code == .unreachable)
    _ = try await FolderRemote.create(directory: folder.path)
    var maker = folder.makers[HostileFolder.notes]!
    let segment = try maker.next()
    let other = await #expect(throws: RemoteError.self) { try await remote.append(segment, after: 3) }
    #expect(other?.code == .identityMismatch)
    let mismatch = await #expect(throws: RemoteError.self) {
      try await FolderRemote.open(directory: folder.path).zoneEvents(after: token)
    }
    #expect(mismatch?.code == .identityMismatch)
    rename(folder.path, folder.path + "-other")
    rename(folder.path + "-away", folder.path)
    let outcome = try await remote.append(segment, after: 3)
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
  }

  @Test("a hole in a log is not its end: reading reports it, and nothing is written there")
  func holeIsNoEnd() async throws {
    let folder = try await HostileFolder()
    unlink(folder.entry(2))
    guard case .failure(let error) = await folder.read(HostileFolder.notes, after: 1) else {
      Issue.record("the hole counted as the end")
      return
    }
    #expect(error.code == .missingSegment)
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
  }

  @Test("a file in the place of a log's next directory affects only that log")
  func fileAsDirectory() async throws {
    let folder = try await HostileFolder()
    let next = ObjectName.entry(of: folder.incarnations[HostileFolder.notes]!, 4096)
    folder.write([1], folder.path + "/" + next.components.dropLast().joined(separator: "/"))
    let remote = try await FolderRemote.open(directory: folder.path)
    var maker = folder.makers[HostileFolder.notes]!
    let segment = try maker.next()
    let error = await #expect(throws: RemoteError.self) { try await remote.append(segment, after: 4094) }
    #expect(error?.code == .damagedSegment)
    let failure = try SyncFailure(#require(error))
    #expect(failure.scope == .zone)
    #expect(await folder.count(HostileFolder.lists) == 2)
  }

  @Test("a file in the place of a whole log: the audit reports it once, and reads the others")
  func fileAsLog() async throws {
    let folder = try await HostileFolder()
    let log = folder.path + "/\(ObjectName.log(of: folder.incarnations[HostileFolder.notes]!))"
    rename(log, folder.directory.path + "/elsewhere")
    folder.write([1], log)
    let remote = try await FolderRemote.open(directory: folder.path)
    let audit = try await RemoteAudit(of: remote, objects: try await remote.objects.list())
    #expect(audit.problems.count == 1 && audit.problems.first?.message.contains(log) == true)
    #expect(audit.logs.map(\.segments) == [0, 2])
  }

  @Test(
    "foreign folders beside the remote's own are reported and not opened; those of systems are skipped")
  func foreignFolders() async throws {
    let folder = try await HostileFolder()
    let before = try await folder.contents()
    for name in ["lost+found", ".Trash-1000", "photos"] {
      mkdir("\(folder.path)/\(name)", 0o700)
      folder.write([1], "\(folder.path)/\(name)/inner")
    }
    folder.write([1], "\(folder.path)/.DS_Store")
    folder.write([1, 2], "\(folder.path)/note.txt")
    let after = try await folder.contents()
    #expect(Set(after.keys).subtracting(before.keys) == ["photos/", "note.txt"])
    #expect(Set(before.keys).isSubset(of: after.keys))
  }

  @Test("a folder with other files does not become a remote, and an existing remote stays as it is")
  func createsOnlyWhereItMay() async throws {
    let folder = try await HostileFolder()
    let before = try await folder.contents()
    _ = try await FolderRemote.create(directory: folder.path)
    let after = try await folder.contents()
    #expect(before == after)
    let other = TemporaryDirectory()
    folder.write([1], other.path + "/photo.jpg")
    let error = await #expect(throws: RemoteError.self) {
      try await FolderRemote.create(directory: other.path)
    }
    #expect(error?.code == .notARemote)
    #expect(error?.message.contains("photo.jpg") == true)
  }
}
