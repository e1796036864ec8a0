import ChildProcesses
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

#if DEBUG
  @Suite("A crash or a full disk at any step of work with asset files")
  struct AssetFaultTests {
    private let bytes = assetBytes(600_000)

    private func open(_ directory: TemporaryDirectory, _ steps: StepCounter? = nil) throws -> LocalStore {
      try directory.store { configuration in
        configuration.isUnsynced = false
        configuration.assetThresholdBytes = 10_000
        if let steps { configuration.assetFault = { steps.fault($0) } }
      }
    }

    /// A durable store that also syncs directories.
    private func openDurable(_ directory: TemporaryDirectory, _ steps: StepCounter? = nil) throws
      -> LocalStore
    {
      var configuration = StoreConfiguration()
      configuration.mapBytes = 1 << 33
      configuration.assetThresholdBytes = 10_000
      if let steps { configuration.assetFault = { steps.fault($0) } }
      return try LocalStore(
        directory: directory.path + "/store", durability: .durable, configuration: configuration)
    }

    /// Kills a piece of work at its first file call, at its second, and so on until it completes.
    private func atEachStep(
      _ work: (LocalStore) async throws -> Void,
      afterwards check: (_ store: LocalStore, _ wasKilled: Bool) async throws -> Void
    ) async throws -> Int {
      var step = 0
      while true {
        let directory = TemporaryDirectory()
        let counter = StepCounter()
        do {
          let store = try openDurable(directory, counter)
          try await store.makeZone()
          try await store.write { try $0.create(note("first"), type: "note") }
          counter.fail(after: step)
          let failure = await awaitedCode { try await work(store) }
          let isKilled = counter.hasFailed
          #expect((failure != nil) == isKilled, "step \(step): \(String(describing: failure))")
          if let failure { #expect(failure == .system) }
          store.close()
          let opened = try openDurable(directory)
          let report = try opened.verify()
          #expect(report.problems == [], "step \(step)")
          let incoming = opened.assetFiles().filter { $0.hasPrefix("incoming/") }
          #expect(incoming == [], "step \(step)")
          try await check(opened, isKilled)
          // The same work again succeeds.
          try await work(opened)
          try await check(opened, false)
          try opened.forgetHolds()
          _ = try await opened.reclaim()
          try await check(opened, false)
          let end = try opened.verify()
          #expect(end.problems == [])
          #expect(end.unnamedAssets == 0)
          if !isKilled { return step }
        }
        step += 1
        try #require(step < 200)
      }
    }

    @Test("an import and the write that refers to it, killed at each step")
    func imports() async throws {
      let bytes = bytes
      let steps = try await atEachStep { store in
        let asset = try await store.importAsset(bytes: bytes)
        try await store.write { try $0.set("photo", of: note("first"), to: .asset(asset)) }
      } afterwards: { store, wasKilled in
        if let asset = try store.asset("photo", note("first")) {
          let content = try store.assetContent(asset)
          #expect(content == bytes)
        } else {
          #expect(wasKilled)
        }
      }
      print("an import makes \(steps) calls")
      #expect(steps > 8)
    }

    @Test("a write whose bytes become an asset, killed at each step")
    func thresholds() async throws {
      let bytes = bytes
      let steps = try await atEachStep { store in
        try await store.write { try $0.set("photo", of: note("first"), to: .bytes(bytes)) }
      } afterwards: { store, wasKilled in
        if let asset = try store.asset("photo", note("first")) {
          let content = try store.assetContent(asset)
          #expect(content == bytes)
        } else {
          #expect(wasKilled)
        }
      }
      #expect(steps > 8)
    }

    @Test("a download that is killed at each step continues with the bytes it has")
    func downloads() async throws {
      let bytes = bytes
      let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: UInt64(bytes.count))
      var begun = 0
      let steps = try await atEachStep { store in
        let partial = try #require(try store.assetTransfers.partial(asset))
        if partial.byteCount > 0 { begun += 1 }
        let there = Int(min(partial.byteCount, asset.byteCount)) / 100_000 * 100_000
        try partial.truncate(to: UInt64(there))
        for start in stride(from: there, to: bytes.count, by: 100_000) {
          try partial.append(Array(bytes[start..<start + 100_000]))
        }
        let isWhole = try partial.isWhole()
        #expect(isWhole)
        try partial.publish()
        try await store.write { try $0.set("photo", of: note("first"), to: .asset(asset)) }
      } afterwards: { store, wasKilled in
        let condition = try store.checkAsset(asset)
        #expect(condition == .whole || wasKilled && condition == .missing)
      }
      #expect(begun > 5)
      #expect(steps > 10)
    }

    @Test(
      "a commit that fails after its files were written removes no files of others",
      arguments: CommitFault.allCases)
    func commits(_ fault: CommitFault) async throws {
      let directory = TemporaryDirectory()
      let plan = Shared<CommitFault?>(nil)
      let bytes = bytes
      let store = try directory.store { configuration in
        configuration.assetThresholdBytes = 10_000
        configuration.commitFault = { plan.value }
      }
      try await store.makeZone()
      try await store.write { try $0.create(note("first"), type: "note") }
      plan.value = fault
      let refused = await awaitedCode {
        try await store.write { try $0.set("photo", of: note("first"), to: .bytes(bytes)) }
      }
      #expect(refused == (fault == .uncertain ? .commitUncertain : .commitFailed))
      plan.value = nil
      _ = try await store.reclaim()
      #expect(store.assetFiles().count == (fault == .uncertain ? 1 : 0))
      try await store.write { try $0.set("photo", of: note("first"), to: .bytes(bytes)) }
      let asset = try #require(try store.asset("photo", note("first")))
      let content = try store.assetContent(asset)
      #expect(content == bytes)
      try await checkSound(store)
    }

    @Test("left-over files of two processes: a living process keeps its files")
    func sweeps() async throws {
      let directory = TemporaryDirectory()
      let store = try open(directory)
      let incoming = try store.assets.begin()
      try bytes.withUnsafeBytes { try incoming.append($0) }
      writeFile(store.assets.incomingFolder + "/left", [1, 2, 3])
      try store.assets.sweepIncoming()
      #expect(store.assetFiles().count == 1)
      let asset = try incoming.finish()
      try incoming.publish()
      let content = try store.assetContent(asset)
      #expect(content == bytes)
    }

    @Test("a process that is killed while it writes assets loses none that it has reported")
    func kills() async throws {
      let directory = TemporaryDirectory()
      var generator = SeededGenerator(seed: 5)
      var next = 0
      for cycle in 0..<30 {
        let child = ChildProcess("assets", directory.path + "/store", "\(next)")
        #expect(child.line() == "ready")
        for _ in 0..<generator.below(4) {
          if let line = child.line(), let number = Int(line) { next = number + 1 }
        }
        usleep(UInt32(generator.below(8000)))
        child.send(SIGKILL)
        while let line = child.line() { if let number = Int(line) { next = number + 1 } }
        _ = child.wait()
        let store = try openDurable(directory)
        for number in 0..<next {
          let asset = try #require(
            try store.asset("photo", RecordID(zone: noteZone, name: Name("a\(number)"))), "cycle \(cycle)")
          #expect(asset.byteCount == UInt64(70_000 + number * 997))
        }
        let report = try store.verify()
        #expect(report.problems == [], "cycle \(cycle)")
        #expect(store.assetFiles().filter { $0.hasPrefix("incoming/") } == [])
        // The last one may exist although its report did not arrive.
        if try store.read({ try $0.contains(RecordID(zone: noteZone, name: Name("a\(next)"))) }) { next += 1 }
        store.close()
      }
      #expect(next > 30)
      let store = try openDurable(directory)
      try store.forgetHolds()
      _ = try await store.reclaim()
      #expect(store.assetFiles().count == next)
      try await checkSound(store)
    }

    @Test("an unreadable file is damaged, and verification reports it")
    func unreadable() async throws {
      let directory = TemporaryDirectory()
      let isBad = Shared(false)
      let store = try directory.store { configuration in
        configuration.assetFault = { call in isBad.value && "\(call)" == "pread" ? .before(EIO) : nil }
      }
      try await store.makeZone()
      let asset = try await store.importAsset(bytes: bytes)
      try await store.write { try $0.create(note("first"), type: "note", fields: ["photo": .asset(asset)]) }
      isBad.value = true
      let condition = try store.checkAsset(asset)
      #expect(condition == .damaged)
      let read = code { _ = try store.assetContent(asset) }
      #expect(read == .assetDamaged)
      let report = try store.verify()
      #expect(report.problems.map(\.kind) == [.asset])
      isBad.value = false
      let content = try store.assetContent(asset)
      #expect(content == bytes)
    }

    @Test("a download that is renamed while another process opens it does not count as a partial one")
    func renamedPartial() throws {
      let directory = TemporaryDirectory()
      let swap = Shared<(@Sendable () -> Void)?>(nil)
      let store = try directory.store { configuration in
        configuration.assetFault = { call in
          if "\(call)" == "flock" { swap.value?() }
          return nil
        }
      }
      let asset = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: UInt64(bytes.count))
      let (path, named) = ("\(store.assets.partialFolder)/\(asset.hash)", store.assets.path(of: asset.hash))
      do {
        let first = try #require(try store.assetTransfers.partial(asset))
        try first.append(bytes)
      }
      try store.assets.makeFolder(store.assets.folder(of: asset.hash))
      // Between the second's open and lock, the first ends, and a third starts again.
      swap.value = {
        rename(path, named)
        writeFile(path, [1, 2, 3])
      }
      let second = try store.assetTransfers.partial(asset)
      #expect(second == nil)
      swap.value = nil
      let content = try store.assetContent(asset)
      #expect(content == bytes)
      let third = try store.assetTransfers.partial(asset)
      #expect(third?.byteCount == 3)
    }

    #if os(Linux)
      @Test(
        "a full disk refuses an import and a write and leaves nothing; they succeed when there is space",
        .enabled("mounting a file system needs root", { SmallDisk.isPossible }),
        arguments: [0, 1, 20, 80, 140])
      func fullDisk(_ pagesLeft: Int) async throws {
        let disk = try SmallDisk(bytes: 8 << 20)
        var configuration = StoreConfiguration()
        configuration.mapBytes = 1 << 30
        configuration.assetThresholdBytes = 10_000
        let store = try LocalStore(
          directory: disk.path + "/store", durability: .durable, configuration: configuration)
        try await store.makeZone()
        try await store.write { try $0.create(note("first"), type: "note", fields: ["title": "Hello"]) }
        let first = try await store.importAsset(bytes: assetBytes(1000, seed: 7))
        var information = statvfs()
        statvfs(disk.path, &information)
        let left = Int(information.f_bavail) * Int(information.f_frsize)
        writeFile(disk.path + "/ballast", [UInt8](repeating: 1, count: max(0, left - pagesLeft * 4096)))
        let bytes = bytes
        let imported = await awaitedCode { _ = try await store.importAsset(bytes: bytes) }
        #expect(imported == .full)
        let written = await awaitedCode {
          try await store.write { try $0.set("photo", of: note("first"), to: .bytes(bytes)) }
        }
        #expect(written == .full)
        #expect(store.assetFiles().count == 1)
        let title = try store.value("title", note("first"))
        #expect(title == "Hello")
        let content = try store.assetContent(first)
        #expect(content == assetBytes(1000, seed: 7))
        disk.remove(disk.path + "/ballast")
        let asset = try await store.importAsset(bytes: bytes)
        try await store.write { try $0.set("photo", of: note("first"), to: .asset(asset)) }
        let again = try store.assetContent(asset)
        #expect(again == bytes)
        let report = try store.verify()
        #expect(report.problems == [])
      }
    #endif
  }
#endif
