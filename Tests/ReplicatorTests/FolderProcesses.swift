import ChildProcesses
import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Many processes at one folder")
struct FolderProcesses {
  @Test(
    "each acknowledged append is there once, also from killed processes",
    arguments: WideTests.choose(1...2, otherwise: 1...1))
  func areAllThere(_ seed: UInt64) async throws {
    let directory = TemporaryDirectory()
    let remote = try await FolderRemote.create(directory: directory.path + "/remote")
    let zone = ZoneID(name: "notes")
    let incarnation = try await remote.createZone(zone, proposing: IncarnationID(rawValue: UInt128(seed)))
    var random = SeededRandom(seed: seed)
    let count = 150
    // The processes to kill have enough work to be still running, unless the kill comes very late.
    let children = (1...8).map {
      let arguments = ["append", directory.path + "/remote", "\(incarnation)", "\($0)"]
      return ChildProcess(
        program: "RemoteWriter", arguments + ($0 > 4 ? ["\(count)"] : ["\(20 * count)", "wait"]))
    }
    // A concurrent reader sees only whole segments.
    let reading = try await FolderRemote.open(directory: directory.path + "/remote")
    let reader = Task {
      var token = ChangeToken.start(of: zone, incarnation)
      while !Task.isCancelled {
        let outcome: FetchOutcome
        do throws(RemoteError) {
          outcome = try await reading.segments(after: token, bytesMax: 1 << 20)
        } catch {
          #expect(error.code == .cancelled, "\(error)")
          break
        }
        guard case .segments(let page, _) = outcome else { break }
        for segment in page {
          token.offset = segment.offset
          token.chain = segment.chain
          token.hash = try SegmentPacker.unpack(segment.bytes).header.contentHash
        }
        await Task.yield()
      }
      return token.offset
    }
    var acknowledged = [[UInt64]](repeating: [], count: children.count)
    // Four are killed in the middle of their work.
    for (index, child) in children[..<4].enumerated() {
      for _ in 0..<random.next(in: 1...8) {
        if let line = child.line() { acknowledged[index].append(UInt64(line)!) }
      }
      child.send(SIGKILL)
    }
    for (index, child) in children.enumerated() {
      acknowledged[index] += child.lines().map { UInt64($0)! }
      let end = child.wait()
      #expect(end == (index < 4 ? .signal(SIGKILL) : .exit(0)))
    }
    reader.cancel()
    let seen = try await reader.value
    var all: [SegmentHeader] = []
    var token = ChangeToken.start(of: zone, incarnation)
    while case .segments(let page, _) = try await remote.segments(after: token, bytesMax: 1 << 24),
      !page.isEmpty
    {
      for segment in page {
        #expect(segment.offset == token.offset + 1)
        let header = try SegmentPacker.unpack(segment.bytes).header
        (token.offset, token.hash, token.chain) = (segment.offset, header.contentHash, nil)
        all.append(header)
      }
    }
    #expect(seen <= token.offset)
    for (index, offsets) in acknowledged.enumerated() {
      let replica = ReplicaID(rawValue: UInt128(index + 1))
      for (sequence, offset) in offsets.enumerated() {
        #expect(all[Int(offset) - 1].replica == replica)
        #expect(all[Int(offset) - 1].sequences.lowerBound == UInt64(sequence) + 1)
      }
      let own = all.filter { $0.replica == replica }.map(\.sequences.lowerBound)
      #expect(own == (0..<own.count).map { UInt64($0) + 1 }, "each once and in order (seed \(seed))")
      #expect(own.count == offsets.count || own.count == offsets.count + 1, "one may be there unacknowledged")
      if index >= 4 { #expect(offsets.count == count) }
    }
  }
}
