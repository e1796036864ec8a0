import Foundation
import HTTPRemote
import OperationFormat
import Replicator
import StoreTesting
import Synchronization
import Testing
import Tributary
import URLSessionTransport

/// What a server serves.
enum Serving: String, CaseIterable {
  /// A remote in a folder, which others may use too.
  case gateway
  /// Its own directory.
  case data

  func arguments(_ directory: String) -> [String] {
    switch self {
    case .gateway: ["--gateway", "folder:\(directory)/remote"]
    case .data: ["--data", "\(directory)/data"]
    }
  }
}

@Suite("A server as a process", .serialized)
struct ServersAsProcesses {
  /// Removed with the last one who has it.
  private final class Scratch: Sendable {
    let path = NSTemporaryDirectory() + "tributary-server-\(UInt64.random(in: 0 ... .max))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private var gateway: [String] { Serving.gateway.arguments(scratch.path) }

  private func file(_ name: String, _ text: String) throws -> String {
    let path = "\(scratch.path)/\(name)"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  private func expect(_ code: RemoteError.Code, _ call: () async throws -> Void) async {
    await #expect { try await call() } throws: { ($0 as? RemoteError)?.code == code }
  }

  @Test("keeps the contract of remotes over sockets", arguments: Serving.allCases)
  func contract(_ serving: Serving) async throws {
    let directory = scratch.path
    let unlimited = ["--reads-per-second", "1e9", "--writes-per-second", "1e9"]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, check) in RemoteLogConformance.checks.enumerated() {
        if number >= 6 { try await group.next() }
        group.addTask {
          let own = "\(directory)/\(number)"
          try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
          let server = try await ServerProcess(serving.arguments(own) + unlimited)
          try await RemoteLogConformance { doors in try (0..<doors).map { _ in try server.client() } }.run(
            check)
          server.signal(SIGKILL)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("takes who knows the secret, and says nothing to others")
  func secret() async throws {
    let secret = "a long and random secret"
    let file = try file("secret", secret + "\n")
    let server = try await ServerProcess(gateway + ["--secret-file", file])
    try await server.client(secret: secret).probe()
    await expect(.unauthenticated) { try await server.client().probe() }
    await expect(.unauthenticated) { try await server.client(secret: secret + "x").probe() }
    #expect(!server.log.contains(secret))
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test("refuses to start where it would serve others without a secret, and says what is wrong")
  func settings() async throws {
    let short = try file("short", "short")
    let config = try file("config", "listen: 127.0.0.1:0\nnothing: 5\n")
    for (arguments, word) in [
      ([], "--gateway"), (gateway + ["--data", "x"], "one of the three"),
      (["--index", "postgres://h/d"], "go together"),
      (
        ["--index", "postgres://127.0.0.1:1/d", "--objects", "folder:\(scratch.path)/o"], "cannot be reached"
      ),
      (["--index", "postgres://h/d", "--objects", "x"], "no place"),
      (["--data", "/dev/null/x"], "cannot keep its data"), (["--gateway", "memory"], "folder:DIRECTORY"),
      (gateway + ["--secret-file", short], "16 bytes"),
      (gateway + ["--secret-file", "/nothing"], "cannot be read"),
      (gateway + ["--tls-key", short], "go together"),
      (gateway + ["--tls-key", short, "--tls-certificate", short], "certificate"),
      (gateway + ["--config", config], "nothing"),
      (gateway + ["--log-level", "loud"], "loud"), (gateway + ["--listen", "x"], "HOST:PORT"),
      (gateway + ["--listen", "0.0.0.0:0"], "--secret-file"),
    ] {
      let said = try await ServerProcess.output(of: ServerProcess.executable.path, arguments)
      #expect(said.contains(word), "\(arguments): \(said)")
    }
    let inFile = try file("good", "gateway: folder:\(scratch.path)/remote\nlisten: 127.0.0.1:1\n")
    let server = try await ServerProcess(["--config", inFile])
    try await server.client().probe()
  }

  @Test("refuses calls beyond the rates that it is given", arguments: ["flag", "environment", "file"])
  func rates(_ place: String) async throws {
    // The second call comes long before the next is free, however busy the machine is.
    let rates = ["reads-per-second": "0.0001", "writes-per-second": "0.0002"]
    let server =
      switch place {
      case "flag": try await ServerProcess(gateway + rates.flatMap { ["--\($0)", $1] })
      case "environment":
        try await ServerProcess(
          gateway,
          environment: ["TRIBUTARY_READS_PER_SECOND": "0.0001", "TRIBUTARY_WRITES_PER_SECOND": "0.0002"])
      default:
        try await ServerProcess(
          gateway + ["--config", file("config", rates.map { "\($0): \($1)\n" }.joined())])
      }
    let client = try server.client()
    _ = try await client.zoneEvents(after: nil)
    await expect(.later) { _ = try await client.zoneEvents(after: nil) }
    _ = try await client.createZone("lists", proposing: IncarnationID(rawValue: 5))
    await expect(.later) { _ = try await client.createZone("more", proposing: IncarnationID(rawValue: 6)) }
  }

  @Test(
    "serves over TLS with HTTP/2, to who trusts its certificate",
    .enabled(if: ServerProcess.has("openssl") && ServerProcess.has("curl"), "it needs openssl and curl"))
  func tls() async throws {
    let (key, certificate) = ("\(scratch.path)/key.pem", "\(scratch.path)/certificate.pem")
    let made = try await ServerProcess.output(
      of: "openssl",
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
      ])
    try #require(FileManager.default.fileExists(atPath: certificate), "\(made)")
    let server = try await ServerProcess(gateway + ["--tls-certificate", certificate, "--tls-key", key])
    let head = try await ServerProcess.output(
      of: "curl", ["-sS", "-D", "-", "--http2", "--cacert", certificate, server.address + "/v1/remote"])
    #expect(head.hasPrefix("HTTP/2 200") && head.lowercased().contains("tributary-version: 1"), "\(head)")
    await expect(.unreachable) { try await server.client().probe() }
  }

  @Test(
    "answers what is no request of it, and keeps serving",
    .enabled(if: ServerProcess.has("curl"), "it needs curl"))
  func garbage() async throws {
    let server = try await ServerProcess(gateway)
    let url = server.address
    for (arguments, word) in [
      (["\(url)/"], "404"), (["\(url)/v1/nothing"], "404"), (["-X", "PATCH", "\(url)/v1/zones"], "405"),
      (["\(url)/v1/zones?remote=x"], "400"),
      (["-X", "PUT", "\(url)/v1/zones?name=lists", "-d", String(repeating: "x", count: 65)], "413"),
      (["\(url)/healthz"], "200"), (["\(url)/readyz"], "200"),
      (["-H", "Tributary-Zone: \u{FF}", "\(url)/v1/logs/x"], "400"),
    ] {
      let status = try await ServerProcess.output(
        of: "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}"] + arguments)
      #expect(status == word, "\(arguments)")
    }
    let large = try file("large", String(repeating: "x", count: 20 << 20))
    let status = try await ServerProcess.output(
      of: "curl",
      [
        "-s", "-o", "/dev/null", "-w", "%{http_code}", "--data-binary", "@\(large)",
        "\(url)/v1/logs/\(IncarnationID(rawValue: 5))",
      ])
    #expect(status == "413")
    try await server.client().probe()
  }

  @Test(
    "closes connections that bring nothing, and those in the middle of a request",
    arguments: [
      "", "POST /v1/zones?name=lists HTTP/1.1\\r\\nHost: localhost\\r\\n",
      "PUT /v1/zones?name=lists HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 32\\r\\n\\r\\n0000",
    ])
  func idle(_ sent: String) async throws {
    let server = try await ServerProcess(gateway + ["--idle-seconds", "1"])
    let connection =
      "exec 3<>/dev/tcp/127.0.0.1/\(server.port); printf '\(sent)' >&3; cat <&3 >/dev/null; echo closed"
    let said = try await ServerProcess.output(of: "timeout", ["30", "bash", "-c", connection])
    #expect(said.contains("closed"), "\(said)")
    try await server.client().probe()
  }

  @Test(
    "stops while streams and waiting reads are open, and says when to come back",
    .enabled(if: ServerProcess.has("curl"), "it needs curl"))
  func stops() async throws {
    let server = try await ServerProcess(gateway)
    let client = try server.client()
    let incarnation = IncarnationID(rawValue: 5)
    _ = try await client.createZone("lists", proposing: incarnation)
    // Of one device, eight may be open.
    let streams = (0..<20).map { number in
      Task {
        try await ServerProcess.output(
          of: "curl", ["-sN", "-H", "Tributary-Device: \(number)", server.address + "/v1/events"])
      }
    }
    let waiting = Task {
      try await ServerProcess.output(
        of: "curl", ["-s", "-w", "%{http_code}", server.address + "/v1/logs/\(incarnation)?wait=50"])
    }
    try await Task.sleep(for: .milliseconds(500))
    let start = ContinuousClock.now
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(ContinuousClock.now - start < .seconds(5))
    for stream in streams { #expect(try await stream.value.contains("retry: ")) }
    #expect(try await waiting.value == "204")
  }

  private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  /// Appends segments one after the other, and asks again until there is an answer, as a replicator does; each time at the
  /// next address, as one behind a load balancer.
  private static func write(
    _ number: Int, to zone: ZoneID, _ incarnation: IncarnationID, _ addresses: [String], until isOver: Flag
  ) async throws -> [PackedSegment] {
    let transport = URLSessionTransport()
    let clients = try addresses.map { try HTTPRemote($0, patience: .seconds(5), transport: transport) }
    var turn = number
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: UInt128(number)), seed: 7)
    var acknowledged: [PackedSegment] = []
    while !isOver.isSet {
      let segment = try maker.next()
      var isThere = false
      while !isThere {
        turn += 1
        do {
          switch try await clients[turn % clients.count].append(segment, after: .start(of: zone, incarnation))
          {
          case .appended, .alreadyThere: isThere = true
          case let other: throw ServerProcess.Failure(description: "an append gave \(other)")
          }
        } catch let error as RemoteError where [.unreachable, .later].contains(error.code) {
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      acknowledged.append(segment)
    }
    return acknowledged
  }

  private let kills = ProcessInfo.processInfo.environment["SERVER_KILLS"].flatMap { Int($0) } ?? 5

  @Test(
    "killed again and again under many writers, loses nothing that was acknowledged, and has nothing twice",
    arguments: Serving.allCases)
  func kills(_ serving: Serving) async throws {
    let server = try await ServerProcess(serving.arguments(scratch.path))
    try await kill([server], serving.arguments(scratch.path))
  }

  @Test("many, killed in turn while their database crashes too, lose nothing", .needsPostgres)
  func killsOfMany() async throws {
    let postgres = try await PostgresServer()
    let arguments = [
      "--index", try await postgres.makeDatabase(), "--objects", "folder:\(scratch.path)/objects",
    ]
    let servers = [try await ServerProcess(arguments), try await ServerProcess(arguments)]
    try await kill(servers, arguments) { number in
      if number % 5 == 4 { try await postgres.crash() }
    }
  }

  /// Kills servers in turn under 16 writers, and compares what is there in the end.
  private func kill(
    _ started: [ServerProcess], _ arguments: [String], also: (Int) async throws -> Void = { _ in }
  ) async throws {
    var servers = started
    let (zone, incarnation): (ZoneID, _) = ("lists", IncarnationID(rawValue: 5))
    let (ports, addresses) = (servers.map(\.port), servers.map(\.address))
    _ = try await servers[0].client().createZone(zone, proposing: incarnation)
    let isOver = Flag()
    let writers = (1...16).map { number in
      Task { try await Self.write(number, to: zone, incarnation, addresses, until: isOver) }
    }
    for number in 0..<kills {
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...600)))
      let index = number % servers.count
      servers[index].signal(SIGKILL)
      #expect(try await servers[index].end() == -SIGKILL)
      try await also(number)
      servers[index] = try await ServerProcess(arguments, port: ports[index])
    }
    try await Task.sleep(for: .milliseconds(300))
    isOver.set()
    var expected: [ReplicaID: [PackedSegment]] = [:]
    var known: [[UInt8]: PackedSegment] = [:]
    for writer in writers {
      let segments = try await writer.value
      if let replica = segments.first?.header.replica { expected[replica] = segments }
      for segment in segments { known[segment.bytes] = segment }
    }
    for server in servers {
      var token = ChangeToken.start(of: zone, incarnation)
      var found: [ReplicaID: [PackedSegment]] = [:]
      let reader = try server.client()
      while case .segments(let page, _) = try await reader.segments(after: token, bytesMax: 1 << 20),
        !page.isEmpty
      {
        for stored in page {
          let segment = try #require(known[stored.bytes], "nobody was told of offset \(stored.offset)")
          #expect(stored.offset == token.offset + 1)
          found[segment.header.replica, default: []].append(segment)
          token = ChangeToken(
            zone: zone, incarnation: incarnation, offset: stored.offset, hash: segment.header.contentHash,
            chain: stored.chain)
        }
      }
      #expect(found == expected, "each acknowledged segment once, in its writer's order")
    }
    #expect(expected.values.reduce(0) { $0 + $1.count } > kills)
  }

  @Test(
    "syncs the stores of apps, and tells one of them what the other has sent", arguments: Serving.allCases)
  func stores(_ serving: Serving) async throws {
    let server = try await ServerProcess(serving.arguments(scratch.path))
    let zone: ZoneID = "lists"
    let stores = try ["one", "two"].map {
      try LocalStore(directory: "\(scratch.path)/\($0)", durability: .consistent)
    }
    try await stores[0].write { transaction in
      try transaction.createZone(zone)
      try transaction.attachZone(zone)
      try transaction.create(RecordID(zone: zone, name: "a"), type: "note")
    }
    _ = try await LogReplicator(store: stores[0], remote: server.client()).syncOnce()
    _ = try await LogReplicator(store: stores[1], remote: server.client()).syncOnce()
    let running = LogReplicator(store: stores[1], remote: try server.client())
    let task = Task { await running.run() }
    for number in 0..<20 {
      try await stores[0].write {
        try $0.create(RecordID(zone: zone, name: Name("record \(number)")), type: "note")
      }
      _ = try await LogReplicator(store: stores[0], remote: server.client()).syncOnce()
    }
    var count = 0
    for _ in 0..<1000 where count < 21 {
      try await Task.sleep(for: .milliseconds(10))
      count = try stores[1].read { try $0.records(in: zone, type: "note").count }
    }
    #expect(count == 21, "within ten seconds, and not with the next poll")
    task.cancel()
    await task.value
    for store in stores { store.close() }
  }
}
