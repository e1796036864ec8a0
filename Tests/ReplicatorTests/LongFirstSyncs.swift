import ChildProcesses
import Testing

@testable import EventStore
@testable import OperationFormat
@testable import Replicator
@testable import StoreTesting

@Suite("The first sync of a long log")
struct LongFirstSyncs {
  private let scratch = TemporaryDirectory()

  /// How long a log is.
  struct Length {
    var segments: Int
    var operations: Int
    var valueBytes: Int
    /// How often the sync is interrupted.
    var interruptions: Int
    /// The most memory that the process may take for it, in KiB.
    var kilobytesMax: Int

    var logBytes: Int { segments * operations * valueBytes }
  }

  #if DEBUG
    private static let some = Length(
      segments: 110, operations: 40, valueBytes: 8_000, interruptions: 50, kilobytesMax: 16 << 10)
  #else
    private static let some = Length(
      segments: 400, operations: 100, valueBytes: 4_000, interruptions: 100, kilobytesMax: 32 << 10)
  #endif
  private static let pageBytesMax = 400_000
  /// A million operations.
  private static let all = Length(
    segments: 1_000, operations: 1_000, valueBytes: 150, interruptions: 100, kilobytesMax: 64 << 10)

  @Test(
    "continues where it was interrupted, reads little again, and takes bounded memory",
    .timeLimit(.minutes(20)))
  func interrupted() async throws {
    let length = WideTests.choose(Self.all, otherwise: Self.some)
    // Otherwise the bound would show nothing.
    #expect(length.logBytes > 2 * length.kilobytesMax << 10)
    let folder = "\(scratch.path)/remote"
    let remote = try await FolderRemote.create(directory: folder)
    let incarnation = try await remote.createZone(zone, proposing: IncarnationID(rawValue: 5))
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 7))
    var random = SeededRandom(seed: 3)
    for number in 0..<length.segments {
      let operations = (0..<length.operations).map { operation in
        // No packing makes it smaller.
        var value: [UInt8] = []
        value.reserveCapacity(length.valueBytes + 8)
        while value.count < length.valueBytes {
          withUnsafeBytes(of: random.next()) { value.append(contentsOf: $0) }
        }
        return LogOperation.set(
          record: Name("\(number) \(operation)"), type: "note", field: "title", value: .bytes(value))
      }
      _ = try await remote.append(try maker.next(operations, base: nil), after: UInt64(number))
    }

    let path = "\(scratch.path)/new.store"
    let run = await ChildProcess.run("first", path, folder, "\(length.interruptions)", "\(Self.pageBytesMax)")
    #expect(run.end == .exit(0))
    let figures = try #require(run.lines.last).split(separator: " ").compactMap { Int($0) }
    try #require(figures.count == 3, "\(run.lines)")
    print(
      "first sync: \(length.logBytes >> 20) MiB, \(figures[0]) interruptions, \(figures[2]) KiB more memory")
    #expect(figures[0] == length.interruptions)
    // A page that was read when a round ended may be read again, and nothing before it.
    #expect(figures[1] >= length.segments)
    let page = Self.pageBytesMax / (length.operations * length.valueBytes) + 1
    #expect(figures[1] <= length.segments + length.interruptions * page, "\(figures)")
    #expect(figures[2] < length.kilobytesMax, "\(figures)")

    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    let store = try LocalStore(directory: path, durability: .consistent, configuration: configuration)
    #expect(try store.syncState().zones.first?.token?.offset == UInt64(length.segments))
    #expect(
      try store.read { try $0.count(RecordQuery(zones: [zone])) } == length.segments * length.operations)
    store.close()
  }
}
