import EventStore
import Foundation
import HTTPTypes
import OperationFormat
import Replicator
import S3Remote
import StoreTesting
import Synchronization
import Testing

extension BucketTransport {
  /// A remote of another process.
  func remote(
    _ address: String = "s3://lists/team",
    credentials: @escaping S3Credentials.Source = {
      S3Credentials(accessKey: "key", secretKey: "secret")
    }, clock: NetworkClock = .system,
    wallMilliseconds: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) throws -> S3Remote {
    S3Remote(
      try S3Address(address, endpoint: "http://\(Self.host)"),
      credentials: credentials, transport: self, clock: clock,
      wallMilliseconds: wallMilliseconds)
  }
}

/// Time that passes as soon as somebody waits.
private func impatient() -> NetworkClock {
  let random = Mutex(SeededRandom(seed: 1).stream(1))
  return NetworkClock(
    now: NetworkClock.system.now,
    // Long waits are those of a watchdog.
    sleep: { try await Task.sleep(for: $0 < .seconds(20) ? .zero : $0) },
    makeRandom: { random.withLock { $0.next() } })
}

@Suite("Remotes in buckets")
struct RemotesInBuckets {
  @Test("keep the contract", arguments: RemoteLogConformance.checks.indices)
  func contract(_ check: Int) async throws {
    try await RemoteLogConformance { doors in
      let bucket = BucketTransport(pageMax: 3)
      _ = try await bucket.remote().made()
      return try (0..<doors).map { _ in try bucket.remote() }
    }.run(RemoteLogConformance.checks[check])
  }

  @Test("keep it where requests and answers are lost", arguments: WideTests.choose(1...5, otherwise: 4...4))
  func badNetwork(_ seed: UInt64) async throws {
    for check in RemoteLogConformance.checks {
      try await RemoteLogConformance(seed: seed, triesMax: 400) { doors in
        let random = Mutex(SeededRandom(seed: seed).stream(2))
        let isMade = Mutex(false)
        let bucket = BucketTransport(fault: { request in
          // A hint that is lost is found out later.
          guard isMade.withLock({ $0 }), request.path != "/lists/team/hint" else { return nil }
          // A read that is lost ends a page early. That is right, and not what the checks expect.
          let faults: [BucketTransport.Fault] =
            [.slowDown, .internalError, .conflict] + (request.method == .get ? [] : [.lost, .answerLost])
          return random.withLock { random in
            random.next() % 8 == 0 ? faults[Int(random.next() % UInt64(faults.count))] : nil
          }
        })
        _ = try await bucket.remote().made()
        isMade.withLock { $0 = true }
        return try (0..<doors).map { number in
          var stream = SeededRandom(seed: seed).stream(UInt64(10 + number))
          return FaultyRemote(try bucket.remote(clock: impatient()), seed: stream.next())
        }
      }.run(check)
    }
  }

  @Test("are made once, where nothing else is, and at a prefix of their own")
  func made() async throws {
    let bucket = BucketTransport()
    await expect(.notARemote) { _ = try await bucket.remote().checked() }
    let made = try await bucket.remote().made()
    #expect(try await bucket.remote().made().identity() == made.identity())
    #expect(Set(bucket.objects.keys) == ["team/remote"])
    bucket.objects["other/thing"] = [1]
    await expect(.notARemote) { _ = try await bucket.remote("s3://lists/other").made() }
    await expect(.notARemote) { _ = try await bucket.remote("s3://nothing/other").made() }
    let root = try await bucket.remote("s3://lists/a b/ü+").made()
    #expect(bucket.objects["a b/ü+/remote"] != nil)
    #expect(try await root.identity() != made.identity())
    let identities = try await withThrowingTaskGroup(of: RemoteID.self) { group in
      for _ in 0..<8 { group.addTask { try await bucket.remote("s3://lists/race").made().identity() } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(identities.count == 1)
  }

  @Test("are refused at a store that replaces what was to be put only if there was none")
  func conditions() async throws {
    let bucket = BucketTransport(honoursConditions: false)
    await expect(.unsuitable) { _ = try await bucket.remote().made() }
    #expect(bucket.objects.isEmpty)
    // Another store has kept it before.
    let good = BucketTransport()
    _ = try await good.remote().made()
    bucket.objects = good.objects
    await expect(.unsuitable) { try await bucket.remote().probe() }
  }

  @Test(
    "do not take what others answer for what the store says",
    arguments: [HTTPResponse.Status.ok, .notFound, .found, .forbidden, .preconditionFailed, .noContent])
  func foreign(_ status: HTTPResponse.Status) async throws {
    let isForeign = Mutex(false)
    let bucket = BucketTransport(fault: { _ in isForeign.withLock { $0 } ? .foreign(status) : nil })
    let remote = try await bucket.remote().made()
    let incarnation = try await remote.createZone("lists", proposing: IncarnationID(rawValue: 5))
    let start = ChangeToken.start(of: "lists", incarnation)
    var maker = SegmentMaker("lists", incarnation, replica: ReplicaID(rawValue: 1), seed: 1)
    let first = try maker.next()
    guard case .appended(let place) = try await remote.append(first, after: start) else {
      Issue.record("it was not appended")
      return
    }
    let token = ChangeToken(
      zone: "lists", incarnation: incarnation, offset: 1, hash: first.header.contentHash, chain: place.chain)
    let second = try maker.next()
    isForeign.withLock { $0 = true }
    await expect(.notARemote) { _ = try await remote.segments(after: start, bytesMax: 1 << 20) }
    await expect(.notARemote) { _ = try await remote.append(second, after: token) }
    await expect(.notARemote) { _ = try await remote.zoneEvents(after: nil) }
    await expect(.notARemote) { _ = try await bucket.remote().made() }
    isForeign.withLock { $0 = false }
    guard case .appended(let place) = try await remote.append(second, after: token) else {
      Issue.record("it was not appended")
      return
    }
    #expect(place.offset == 2)
  }

  @Test(
    "are made in the end, whichever request fails",
    arguments: [.lost, .answerLost, .internalError] as [BucketTransport.Fault])
  func makingFails(_ fault: BucketTransport.Fault) async throws {
    for failing in 0..<12 {
      let count = Mutex(0)
      let bucket = BucketTransport(fault: { _ in
        count.withLock { count in
          count += 1
          return count - 1 == failing * 19 ? fault : nil
        }
      })
      let remote = try bucket.remote(clock: impatient())
      do throws(RemoteError) { _ = try await remote.made() } catch { #expect(error.code == .unreachable) }
      let identity = try await bucket.remote().made().identity()
      #expect(try await bucket.remote().made().identity() == identity)
      // The request that removes an object of a probe may be the one that is lost.
      #expect(Set(bucket.objects.keys.filter { !$0.hasPrefix("team/probe/") }) == ["team/remote"])
    }
  }

  @Test("are probed as sound, although the store is busy as it puts")
  func probing() async throws {
    for fault in [BucketTransport.Fault.internalError, .slowDown, .conflict] {
      for failing in 0..<5 {
        let count = Mutex(0)
        let isOn = Mutex(false)
        let bucket = BucketTransport(fault: { _ in
          guard isOn.withLock({ $0 }) else { return nil }
          return count.withLock { count in
            count += 1
            return count - 1 == failing ? fault : nil
          }
        })
        _ = try await bucket.remote().made()
        isOn.withLock { $0 = true }
        try await bucket.remote(clock: impatient()).probe()
        #expect(Set(bucket.objects.keys) == ["team/remote"])
      }
    }
  }

  @Test("refuse lists that have no end, have no order, or are of other places")
  func lists() async throws {
    func page(_ keys: [String], next: String? = nil) -> String {
      let contents = keys.map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
      return "<ListBucketResult><IsTruncated>\(next != nil)</IsTruncated>\(contents)"
        + (next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "") + "</ListBucketResult>"
    }
    let bucket = BucketTransport()
    let remote = try await bucket.remote().made()
    let log = "team/\(ObjectName.log(of: IncarnationID(rawValue: 5)))/0000000000000/"
    let after = ObjectName.entry(of: IncarnationID(rawValue: 5), 1)
    for pages in [
      [page(["other/x"])],
      [page(["team/a"], next: "A"), page(["team/b"], next: "B"), page(["team/a"], next: "A")],
      (0..<200).map { page([], next: "\($0)") }, ["<html/>"], [""],
      [String(page(["team/a"]).dropLast(20))],
      ["<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"],
      [
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>team/x</Key><Size>-1</Size></Contents></ListBucketResult>"
      ],
    ] {
      bucket.pages.withLock { $0 = pages }
      await expect(.notARemote, "\(pages[0])") { _ = try await remote.log.objects.list() }
    }
    bucket.pages.withLock { $0 = [page([log + "0000000000000009", log + "0000000000000003"])] }
    await expect(.notARemote) { _ = try await remote.log.objects.nextEntry(after: after) }
    bucket.pages.withLock { $0 = [page([log + "0000000000000003", log + "0000000000000009"])] }
    #expect(try await remote.log.objects.nextEntry(after: after)?.offset == 3)
    // Elements within elements, without an end.
    let deep = String(repeating: "<a>", count: 100_000)
    bucket.pages.withLock { $0 = ["<ListBucketResult>\(deep)"] }
    await expect(.notARemote) { _ = try await remote.log.objects.list() }
  }

  @Test("ask for credentials again if those they have have ended, and wait for a source that fails")
  func credentials() async throws {
    let left = Mutex(0)
    let bucket = BucketTransport(fault: { _ in
      left.withLock { left in
        left -= 1
        return left >= 0 ? .expired : nil
      }
    })
    _ = try await bucket.remote().made()
    let asked = Mutex(0)
    let remote = try bucket.remote(credentials: {
      asked.withLock { $0 += 1 }
      return S3Credentials(accessKey: "key", secretKey: "secret")
    })
    left.withLock { $0 = 1 }
    _ = try await remote.identity()
    #expect(asked.withLock { $0 } == 2)
    left.withLock { $0 = 2 }
    await expect(.unauthenticated) { _ = try await remote.identity() }
    let offline = try bucket.remote(credentials: {
      throw BucketTransport.NetworkError(description: "offline: secret")
    })
    await #expect { _ = try await offline.identity() } throws: {
      ($0 as? RemoteError)?.code == .unreachable && !"\($0)".contains("secret")
    }
    #expect(!"\(S3Credentials(accessKey: "key", secretKey: "hidden"))".contains("hidden"))
  }

  @Test("follow the store's clock if that of the device is wrong", arguments: [-86_400, 86_400] as [Int64])
  func skew(_ ahead: Int64) async throws {
    let now: Int64 = 1_800_000_000
    let bucket = BucketTransport(seconds: { now })
    let remote = try await bucket.remote(wallMilliseconds: { (now + ahead) * 1000 }).made()
    bucket.forget()
    _ = try await remote.createZone("lists", proposing: IncarnationID(rawValue: 5))
    #expect(try await remote.checked().name == "s3://lists/team")
    // Once it is known, nothing is sent twice.
    bucket.forget()
    _ = try await remote.identity()
    #expect(bucket.sent == ["GET team/remote"])
  }

  @Test("tell others what was put although its answer was lost")
  func lostAnswers() async throws {
    let lost = Mutex(0)
    let bucket = BucketTransport(fault: { request in
      guard request.method == .put, request.path?.contains("/logs/") ?? false else { return nil }
      return lost.withLock { lost in
        lost += 1
        return lost == 1 ? .answerLost : nil
      }
    })
    let zone: ZoneID = "lists"
    let (one, two) = (try await bucket.remote().made(), try bucket.remote())
    let incarnation = try await one.createZone(zone, proposing: IncarnationID(rawValue: 5))
    let start = ChangeToken.start(of: zone, incarnation)
    await one.announce()
    let list = try await two.zoneEvents(after: nil).token
    _ = try await two.segments(after: start, bytesMax: 1 << 20)
    let none = try await two.heads(of: [start], list: list)
    #expect(none?.zones.map(\.offset) == [0])
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1), seed: 1)
    let segment = try maker.next()
    await expect(.unreachable) { _ = try await one.append(segment, after: start) }
    guard case .alreadyThere = try await one.append(segment, after: start) else {
      Issue.record("it is not there")
      return
    }
    _ = try await one.segments(after: start, bytesMax: 1 << 20)
    await one.announce()
    let heads = try await two.heads(of: [start], list: list)
    #expect(heads?.zones.map(\.offset) == [1])
  }

  @Test("are called again while the store is too busy, and then later")
  func busy() async throws {
    let left = Mutex(0)
    let bucket = BucketTransport(fault: { _ in
      left.withLock { left in
        left -= 1
        return left >= 0 ? .slowDown : nil
      }
    })
    let remote = try await bucket.remote(clock: impatient()).made()
    left.withLock { $0 = 3 }
    _ = try await remote.identity()
    left.withLock { $0 = 100 }
    await expect(.later) { _ = try await remote.identity() }
  }

  @Test("sync stores: a round with nothing to do is one request")
  func stores() async throws {
    let bucket = BucketTransport()
    let directory = TemporaryDirectory()
    _ = try await bucket.remote().made()
    let zone: ZoneID = "lists"
    let stores = try ["one", "two"].map {
      try LocalStore(directory: "\(directory.path)/\($0)", durability: .consistent)
    }
    defer { for store in stores { store.close() } }
    let remotes = try stores.map { _ in try bucket.remote() }
    for number in 0..<20 {
      try await stores[0].write { transaction in
        try transaction.createZone(zone)
        try transaction.attachZone(zone)
        try transaction.create(RecordID(zone: zone, name: Name("record \(number)")), type: "note")
      }
    }
    for (store, remote) in zip(stores, remotes) {
      #expect(try await LogReplicator(store: store, remote: remote).syncOnce().isInSync)
    }
    let digests = try stores.map { try $0.read { try $0.digest(of: zone) } }
    #expect(digests[0] == digests[1])
    // As the page says what they cost.
    try await stores[0].write { try $0.create(RecordID(zone: zone, name: "more"), type: "note") }
    bucket.forget()
    _ = try await LogReplicator(store: stores[0], remote: remotes[0]).syncOnce()
    #expect(bucket.sent.count <= 20 && bucket.sent.count { $0.hasPrefix("PUT") } == 2, "\(bucket.sent)")
    bucket.forget()
    _ = try await LogReplicator(store: stores[1], remote: remotes[1]).syncOnce()
    #expect(bucket.sent.count <= 9, "\(bucket.sent)")
    var configuration = ReplicatorConfiguration()
    configuration.policy.pollMilliseconds = 5
    let rounds = Mutex(0)
    let running = LogReplicator(store: stores[1], remote: remotes[1], configuration: configuration)
    let task = Task { await running.run { _ in rounds.withLock { $0 += 1 } } }
    try await until("rounds") { rounds.withLock { $0 } > 3 }
    bucket.forget()
    try await until("requests") { bucket.sent.count >= 20 }
    task.cancel()
    await task.value
    #expect(Set(bucket.sent) == ["GET team/hint"], "\(bucket.sent)")
  }
}
