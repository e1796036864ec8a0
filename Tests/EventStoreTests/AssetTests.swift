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

@Suite("Writing, referring to and reading assets")
struct AssetTests {
  private static let threshold = 64 << 10

  private func makeStore(
    _ directory: TemporaryDirectory, _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) async throws -> LocalStore {
    let store = try directory.store { configuration in
      configuration.assetThresholdBytes = Self.threshold
      configure(&configuration)
    }
    try await store.makeZone()
    try await store.write { try $0.create(note("first"), type: "note") }
    return store
  }

  @Test(
    "bytes of any size are read back, from memory, a file and a stream",
    arguments: [0, 1, 255, 4096, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 5 << 20])
  func sizes(_ count: Int) async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let bytes = assetBytes(count)
    let expected = AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: UInt64(count))
    let file = directory.path + "/source"
    writeFile(file, bytes)
    let imported = try await store.importAsset(file: file)
    #expect(imported == expected)
    let fromBytes = try await store.importAsset(bytes: bytes)
    #expect(fromBytes == expected)
    let (stream, feed) = AsyncStream.makeStream(of: [UInt8].self)
    for start in stride(from: 0, to: count, by: 100_000) {
      feed.yield(Array(bytes[start..<min(count, start + 100_000)]))
    }
    feed.finish()
    let fromStream = try await store.importAsset(stream: stream)
    #expect(fromStream == expected)
    #expect(store.assetFiles() == ["\(expected.hash.description.prefix(2))/\(expected.hash)"])

    try await store.write { try $0.set("photo", of: note("first"), to: .asset(imported)) }
    let named = try store.asset("photo", note("first"))
    #expect(named == expected)
    for pieceBytes in [1000, 1 << 16, 1 << 24] where count / pieceBytes < 10_000 {
      let content = try store.assetContent(expected, pieceBytes: pieceBytes)
      #expect(content == bytes)
    }
    let path = try store.assetPath(expected)
    #expect(fileBytes(path) == bytes)
    let reader = try store.openAsset(expected)
    let middle = try reader.read(at: UInt64(count / 2), count: 1000)
    #expect(middle == Array(bytes[(count / 2)...].prefix(1000)))
    let beyond = try reader.read(at: UInt64(count), count: 1000)
    #expect(beyond == [])
    try await checkSound(store)
    let opened = try await reopen(store, directory)
    let again = try opened.assetContent(expected)
    #expect(again == bytes)
  }

  private func reopen(_ store: LocalStore, _ directory: TemporaryDirectory) async throws -> LocalStore {
    store.close()
    return try directory.store { $0.assetThresholdBytes = Self.threshold }
  }

  @Test("bytes over the threshold become an asset, others stay a value", arguments: [-1, 0, 1, 3 << 20])
  func threshold(_ extra: Int) async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let bytes = assetBytes(Self.threshold + extra)
    try await store.write { tx in
      try tx.set("photo", of: note("first"), to: .bytes(bytes))
      try tx.create(note("second"), type: "note", fields: ["photo": .bytes(bytes)])
    }
    let value = try store.value("photo", note("first"))
    let second = try store.value("photo", note("second"))
    #expect(value == second)
    if extra <= 0 {
      #expect(value == .bytes(bytes))
      #expect(store.assetFiles() == [])
    } else {
      let asset = try #require(try store.asset("photo", note("first")))
      let content = try store.assetContent(asset)
      #expect(content == bytes)
      #expect(store.assetFiles().count == 1)
    }
    try await checkSound(store)
  }

  @Test("an unknown asset without a file is refused, also inside other values")
  func unknown() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let unknown = AssetReference(hash: ContentHash(of: [1, 2, 3].span.bytes), byteCount: 3)
    let known = try await store.importAsset(bytes: [7])
    let otherSize = AssetReference(hash: known.hash, byteCount: 2)
    for wrong in [unknown, otherSize] {
      for value: Value in [
        .asset(wrong), .array([.int(1), .asset(known), .asset(wrong)]), .map(["a": .array([.asset(wrong)])]),
      ] {
        let refused = await awaitedCode {
          try await store.write { try $0.set("photo", of: note("first"), to: value) }
        }
        #expect(refused == .assetMissing)
      }
    }
    try await store.write { tx in
      try tx.set("photos", of: note("first"), to: .map(["a": .array([.asset(known)]), "b": .asset(known)]))
    }
    let rows = try store.rows(\.assets).filter { $0.key[0] == 0 }
    #expect(rows.map(\.value) == [[1]])
    try await checkSound(store)
  }

  @Test("reading reports missing, cut or changed files, and another import repairs them")
  func damage() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let bytes = assetBytes(100_000)
    let asset = try await store.importAsset(bytes: bytes)
    try await store.write { try $0.set("photo", of: note("first"), to: .asset(asset)) }
    let path = try store.assetPath(asset)
    for offset in [0, 50_000, 99_999] {
      var flipped = bytes
      flipped[offset] ^= 0x10
      writeFile(path, flipped)
      let read = code { _ = try store.assetContent(asset) }
      #expect(read == .assetDamaged)
      let condition = try store.checkAsset(asset)
      #expect(condition == .damaged)
      let report = try store.verify()
      #expect(report.problems.map(\.kind) == [.asset])
      let healed = try await store.importAsset(bytes: bytes)
      #expect(healed == asset)
      let sound = try store.verify()
      #expect(sound.problems == [])
    }
    // Writing the bytes themselves repairs it too: a write does not rely on the existing file.
    var flipped = bytes
    flipped[1] ^= 1
    writeFile(path, flipped)
    try await store.write { try $0.set("photo", of: note("first"), to: .bytes(bytes)) }
    let mended = try store.assetContent(asset)
    #expect(mended == bytes)
    writeFile(path, Array(bytes.dropLast()))
    let short = code { _ = try store.openAsset(asset) }
    #expect(short == .assetDamaged)
    let shortReport = try store.verify()
    #expect(shortReport.problems.map(\.kind) == [.asset])
    unlink(path)
    let missing = code { _ = try store.openAsset(asset) }
    #expect(missing == .assetMissing)
    let condition = try store.checkAsset(asset)
    #expect(condition == .missing)
    let report = try store.verify()
    #expect(report.problems.map(\.kind) == [.asset])
    // An asset that the log refers to stays known: a copy of the value is valid.
    try await store.write { try $0.set("copy", of: note("first"), to: .asset(asset)) }
  }

  @Test("a file that is cut or removed while it is read")
  func changedWhileRead() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let bytes = assetBytes(300_000)
    let asset = try await store.importAsset(bytes: bytes)
    let path = try store.assetPath(asset)
    var reader = try store.openAsset(asset)
    let first = try reader.next(bytesMax: 1000)
    #expect(first == Array(bytes.prefix(1000)))
    unlink(path)
    var rest: [UInt8] = []
    while let piece = try reader.next() { rest += piece }
    #expect(rest == Array(bytes.dropFirst(1000)))
    let again = try await store.importAsset(bytes: bytes)
    #expect(again == asset)
    var cut = try store.openAsset(asset)
    _ = try cut.next(bytesMax: 1000)
    truncate(path, 2000)
    var found: StoreError.Code?
    do {
      while try cut.next() != nil {}
    } catch let error as StoreError {
      found = error.code
    }
    #expect(found == .assetDamaged)
  }

  @Test("the memory does not grow with the size of an asset")
  func memory() throws {
    let directory = TemporaryDirectory()
    let child = ChildProcess("import", directory.path + "/store", "400")
    let line = try #require(child.line())
    let peaks = line.split(separator: " ").compactMap { Int($0) }
    try #require(peaks.count == 2)
    print("importing and reading 400 MiB: from \(peaks[0]) to \(peaks[1]) KiB resident at most")
    #expect(peaks[0] > 0)
    #expect(peaks[1] - peaks[0] < 16 << 10)
    let end = child.wait()
    #expect(end == .exit(0))
  }

  @Test("an import of a missing file, of a folder, or a cancelled one leaves nothing")
  func failedImports() async throws {
    let directory = TemporaryDirectory()
    let store = try await makeStore(directory)
    let nowhere = await awaitedCode { _ = try await store.importAsset(file: directory.path + "/nothing") }
    #expect(nowhere == .system)
    let folder = await awaitedCode { _ = try await store.importAsset(file: directory.path) }
    #expect(folder == .system)
    struct Ended: Error {}
    let failing = AsyncThrowingStream<[UInt8], any Error> { feed in
      feed.yield([1, 2, 3])
      feed.finish(throwing: Ended())
    }
    await #expect(throws: Ended.self) { _ = try await store.importAsset(stream: failing) }
    let task = Task {
      let endless = AsyncStream<[UInt8]> { Task.isCancelled ? nil : [UInt8](repeating: 1, count: 1000) }
      return try await store.importAsset(stream: endless)
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(store.assetFiles() == [])
    let reading = try directory.store("other")
    reading.close()
    let readOnly = try directory.store("other") { $0.isReadOnly = true }
    let refused = await awaitedCode { _ = try await readOnly.importAsset(bytes: [1]) }
    #expect(refused == .readOnly)
  }
}
