import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

#if os(Linux)
  /// A small file system in memory, mounted for a test; only root can.
  final class SmallDisk: Sendable {
    let path: String
    private let directory = TemporaryDirectory()

    static let isPossible: Bool = (try? SmallDisk(bytes: 1 << 20)) != nil

    init(bytes: Int) throws {
      path = directory.path + "/disk"
      mkdir(path, 0o700)
      guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
        throw StoreError(.system, "mount refused with error \(errno)", hint: "run as root")
      }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Removes a large file, and waits until its space is free: a process that another test has just forked
    /// may have it open for a moment.
    func remove(_ file: String) {
      unlink(file)
      for _ in 0..<1000 {
        var information = statvfs()
        statvfs(path, &information)
        if information.f_bavail > 64 { return }
        usleep(10_000)
      }
      preconditionFailure("the space of \(file) is still taken")
    }

    /// Makes it read-only, or writable again.
    func setReadOnly(_ isReadOnly: Bool) {
      let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
      // A closed store releases its files when its writer's thread has ended.
      for _ in 0..<1000 {
        if mount("tmpfs", path, "tmpfs", flags, nil) == 0 { return }
        precondition(errno == EBUSY, "mount refused with error \(errno)")
        usleep(10_000)
      }
      preconditionFailure("a file is still open on \(path)")
    }
  }

  @Suite(
    "A disk that is full or read-only",
    .enabled("mounting a file system needs root", { SmallDisk.isPossible }))
  struct FullDiskTests {
    private func open(
      _ disk: SmallDisk, _ configure: (inout StoreConfiguration) -> Void = { _ in }
    ) throws -> LocalStore {
      var configuration = StoreConfiguration()
      configure(&configuration)
      return try LocalStore(
        directory: disk.path + "/store", durability: .durable, configuration: configuration)
    }

    @Test(
      "writes fail with typed errors, reads continue; with free space writes continue, also to new zones"
    )
    func full() async throws {
      let disk = try SmallDisk(bytes: 8 << 20)
      let store = try open(disk)
      try await store.makeZone()
      try await store.write { try $0.create(note("first"), type: "note", fields: ["title": "Hello"]) }
      let ballast = disk.path + "/ballast"
      var fills = 0
      var refused: [StoreError.Code] = []
      var written = ["first"]
      for round in 0..<20 {
        // Takes the free space but for some pages, so that the disk gets full at another call each time.
        var information = statvfs()
        statvfs(disk.path, &information)
        let left = Int(information.f_bavail) * Int(information.f_frsize)
        writeFile(ballast, [UInt8](repeating: 1, count: max(0, left - round % 10 * 4096)))
        var number = 0
        while number < 60 {
          let name = "r\(round)-\(number)"
          let found = await awaitedCode {
            try await store.write { tx in
              tx.label = name
              let zone = ZoneID(name: Name("zone-\(name)"))
              try tx.createZone(zone)
              try tx.create(RecordID(zone: zone, name: "r"), type: Name("type-\(name)"))
              let body = Value.string(String(repeating: "x", count: 1000 + 100 * round))
              try tx.create(note(name), type: "note", fields: ["body": body, Name("field-\(name)"): 1])
            }
          }
          number += 1
          guard let found else {
            written.append(name)
            continue
          }
          refused.append(found)
          fills += 1
          break
        }
        let value = try store.value("title", note("first"))
        #expect(value == "Hello")
        disk.remove(ballast)
        let name = "free\(round)"
        try await store.write { try $0.create(note(name), type: "note", fields: [Name("field-\(name)"): 1]) }
        written.append(name)
      }
      print("full disk: \(fills) fills, refused with \(Set(refused))")
      #expect(fills > 5)
      #expect(Set(refused).isSubset(of: [.commitFailed, .full]))
      let names = try store.read { try $0.records(in: noteZone).map(\.id.name.rawValue) }
      #expect(Set(names) == Set(written))
      try checkContiguous(store)
      let report = try store.verify()
      #expect(report.problems == [])
      store.close()
      let opened = try open(disk)
      let again = try opened.read { try $0.records(in: noteZone).count }
      #expect(again == written.count)
    }

    @Test("a store cannot be created on a full disk, and can be when there is space", arguments: 0..<20)
    func making(pages: Int) throws {
      let disk = try SmallDisk(bytes: 1 << 20)
      writeFile(disk.path + "/ballast", [UInt8](repeating: 1, count: (1 << 20) - pages * 4096))
      let full = code { try open(disk).close() }
      // LMDB reports EIO for an incomplete write.
      let isTyped = full == .full || full == .system
      #expect(isTyped || full == nil && pages > 17, "\(String(describing: full))")
      disk.remove(disk.path + "/ballast")
      let free = code { try open(disk).close() }
      #expect(free == nil)
    }

    @Test("on a read-only file system a store opens only for reading")
    func readOnly() async throws {
      let disk = try SmallDisk(bytes: 4 << 20)
      do {
        let made = try open(disk)
        try await made.makeZone()
        try await made.write { try $0.create(note("first"), type: "note", fields: ["title": "Hello"]) }
        made.close()
      }
      disk.setReadOnly(true)
      let writing = code { try open(disk).close() }
      #expect(writing == .readOnly)
      let absent = code {
        try LocalStore(directory: disk.path + "/new", durability: .durable).close()
      }
      #expect(absent == .readOnly)
      let store = try open(disk) { $0.isReadOnly = true }
      let value = try store.value("title", note("first"))
      #expect(value == "Hello")
      let write = await awaitedCode { try await store.write { _ in } }
      #expect(write == .readOnly)
      let report = try store.verify()
      #expect(report.problems == [])
      disk.setReadOnly(false)
      store.close()
      let again = try open(disk)
      try await again.write { try $0.set("title", of: note("first"), to: "changed") }
    }
  }
#endif
