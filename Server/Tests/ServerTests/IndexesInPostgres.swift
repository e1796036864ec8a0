import Foundation
import OperationFormat
import PostgresIndex
import RemoteIndex
import Replicator
import StoreTesting
import Synchronization
import Testing

@Suite("Indexes in PostgreSQL", .serialized, .needsPostgres)
struct IndexesInPostgres {
  private func index(_ address: String) async throws -> PostgresIndex {
    try await PostgresIndex(
      address, connections: 4, milliseconds: { UInt64(Date().timeIntervalSince1970 * 1000) },
      makeRandom: { .random(in: 0 ... .max) })
  }

  private let objects = NSTemporaryDirectory() + "tributary-objects-\(UInt64.random(in: 0 ... .max))"

  @Test("keep the contract of remotes, through two servers")
  func contract() async throws {
    let server = try await PostgresServer()
    defer { try? FileManager.default.removeItem(atPath: objects) }
    try FileManager.default.createDirectory(atPath: objects, withIntermediateDirectories: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, check) in RemoteLogConformance.checks.enumerated() {
        if number >= 4 { try await group.next() }
        group.addTask {
          let place = ObjectPlace.folder("\(objects)/\(number)")
          try await place.make(RemoteID(rawValue: 7))
          let address = try await server.makeDatabase()
          let indexes = [try await index(address), try await index(address)]
          defer { for index in indexes { index.close() } }
          try await RemoteLogConformance { doors in
            (0..<doors).map { IndexedRemote("ann", indexes[$0 % 2], in: place) }
          }.run(check)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("are made once, by many servers that start at one time, and refuse a newer version")
  func schema() async throws {
    let server = try await PostgresServer()
    let address = try await server.makeDatabase()
    let lists = try await withThrowingTaskGroup(of: IndexedList.self) { group in
      for _ in 0..<8 { group.addTask { try await index(address).list(of: "ann") } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(lists.count == 1)
    let database = address.split(separator: "/").last ?? ""
    _ = try await ServerProcess.output(
      of: "psql", [address, "-Atc", "insert into tributary.meta values (99)"])
    await #expect { _ = try await index(address) } throws: { ($0 as? RemoteError)?.code == .newerFormat }
    await #expect { _ = try await index(address + "_\(database)") } throws: {
      ($0 as? RemoteError)?.code == .unreachable
    }
  }

  /// The content hashes of segments.
  private final class Hashes: Sendable {
    private let known = Mutex<[[UInt8]: ContentHash]>([:])

    func add(_ segment: PackedSegment) { known.withLock { $0[segment.bytes] = segment.header.contentHash } }
    subscript(bytes: [UInt8]) -> ContentHash { known.withLock { $0[bytes] } ?? .zero }
  }

  @Test("order what many servers append to one zone: a reader that follows skips nothing")
  func writers() async throws {
    let server = try await PostgresServer()
    let address = try await server.makeDatabase()
    defer { try? FileManager.default.removeItem(atPath: objects) }
    let place = ObjectPlace.folder(objects)
    let indexes = [try await index(address), try await index(address)]
    defer { for index in indexes { index.close() } }
    for index in indexes { try await index.bind(place) }
    let remotes = indexes.map { IndexedRemote("ann", $0, in: place) }
    let zone: ZoneID = "lists"
    let incarnation = try await remotes[0].createZone(zone, proposing: IncarnationID(rawValue: 5))
    let hints = Mutex(0)
    let listening = Task {
      for await _ in indexes[1].changes() { hints.withLock { $0 += 1 } }
    }
    let (writers, each) = (24, 40)
    let hashes = Hashes()
    let reading = Task {
      var (token, count) = (ChangeToken.start(of: zone, incarnation), 0)
      while count < writers * each {
        guard case .segments(let page, _) = try await remotes[1].segments(after: token, bytesMax: 1 << 20)
        else {
          return count
        }
        for stored in page {
          guard stored.offset == token.offset + 1 else { return -1 }
          token = ChangeToken(
            zone: zone, incarnation: incarnation, offset: stored.offset,
            hash: hashes[stored.bytes], chain: stored.chain)
          count += 1
        }
      }
      return count
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...writers {
        group.addTask {
          var maker = SegmentMaker(
            zone, incarnation, replica: ReplicaID(rawValue: UInt128(number)), seed: UInt64(number))
          for _ in 0..<each {
            let segment = try maker.next()
            hashes.add(segment)
            _ = try await remotes[number % 2].append(segment, after: .start(of: zone, incarnation))
            // As one whose answer was lost would ask.
            guard
              case .alreadyThere = try await remotes[(number + 1) % 2].append(
                segment, after: .start(of: zone, incarnation))
            else { throw ServerProcess.Failure(description: "a segment is there twice") }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await reading.value == writers * each)
    try await Task.sleep(for: .milliseconds(300))
    listening.cancel()
    #expect(hints.withLock { $0 } > 0)
  }

  @Test("say that the database is away, and work again once it is back")
  func away() async throws {
    let server = try await PostgresServer()
    let address = try await server.makeDatabase()
    let index = try await index(address)
    defer { index.close() }
    let list = try await index.list(of: "ann")
    #expect(await index.isReachable())
    try await server.stop()
    for _ in 0..<20 {
      await #expect { _ = try await index.list(of: "ann") } throws: {
        ($0 as? RemoteError)?.code == .later && !"\($0)".contains("127.0.0.1")
      }
    }
    #expect(await !index.isReachable())
    try await server.start()
    // A load balancer asks that alone, and sends no calls until it is so.
    var isReachable = false
    for _ in 0..<100 where !isReachable {
      try await Task.sleep(for: .milliseconds(100))
      isReachable = await index.isReachable()
    }
    #expect(isReachable)
    var found: IndexedList?
    for _ in 0..<100 where found == nil {
      try await Task.sleep(for: .milliseconds(100))
      found = try? await index.list(of: "ann")
    }
    #expect(found == list)
    _ = try await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
    #expect(try await index.list(of: "ann") == list)
  }

  @Test("belong to one place for objects, and tell what one server changes to another")
  func twoServers() async throws {
    let server = try await PostgresServer()
    let address = try await server.makeDatabase()
    defer { try? FileManager.default.removeItem(atPath: objects) }
    try FileManager.default.createDirectory(atPath: objects, withIntermediateDirectories: true)
    let (one, two) = (try await index(address), try await index(address))
    defer { for index in [one, two] { index.close() } }
    let place = ObjectPlace.folder(objects + "/one")
    try await one.bind(place)
    try await two.bind(place)
    let other = ObjectPlace.folder(objects + "/two")
    await #expect { try await two.bind(other) } throws: {
      ($0 as? RemoteError)?.code == .notARemote || ($0 as? RemoteError)?.code == .unreachable
    }
    try await other.make(RemoteID(rawValue: 8))
    await #expect { try await two.bind(other) } throws: { ($0 as? RemoteError)?.code == .identityMismatch }

    let hints = two.changes()
    let zone = IndexedZone("lists", of: "ann", IncarnationID(rawValue: 5))
    _ = try await one.createZone(zone)
    var maker = SegmentMaker(zone.zone, zone.log, replica: ReplicaID(rawValue: 1), seed: 1)
    let hearing = Task {
      for await hint in hints {
        if case .logs(let logs) = hint, logs[zone.log] == 1 { return true }
      }
      return false
    }
    _ = try await one.append([try maker.next()], to: zone, after: 0)
    let timeout = Task {
      try await Task.sleep(for: .seconds(20))
      hearing.cancel()
    }
    #expect(await hearing.value)
    timeout.cancel()
  }

  @Test("let no log begin where offsets end", arguments: [Limits.placeMax - 1, 1 << 49])
  func bounds(_ offset: UInt64) async throws {
    let server = try await PostgresServer()
    let index = try await index(try await server.makeDatabase())
    defer { index.close() }
    let zone = IndexedZone("lists", of: "ann", IncarnationID(rawValue: 5))
    _ = try await index.createZone(zone)
    let floor = IndexedFloor(
      offset: offset, hash: .zero, chain: .start(of: zone.log), maker: ReplicaID(rawValue: 1), hasEntry: false
    )
    #expect(try await !index.begin(zone, with: floor))
  }
}
