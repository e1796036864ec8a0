import OperationFormat
import StoreTesting
import Testing

@testable import Replicator

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A folder whose files arrive in another order, with other times, or beside files with similar names")
struct FolderArrivals {
  @Test(
    "three entries arrive in any order: those without a gap before them are read, the rest waits",
    arguments: [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] as [[UInt64]])
  func anyOrder(_ order: [UInt64]) async throws {
    let folder = try await HostileFolder()
    func away(_ offset: UInt64) -> String { "\(folder.directory.path)/away \(offset)" }
    for offset in order { rename(folder.entry(offset), away(offset)) }
    var arrived: Set<UInt64> = []
    for offset in order {
      rename(away(offset), folder.entry(offset))
      arrived.insert(offset)
      let whole = (1...3 as ClosedRange<UInt64>).prefix { arrived.contains($0) }.count
      let before = try await folder.contents()
      let gap = UInt64(whole) + 1
      let isSeen = arrived.contains { $0 > gap }
      let count = await folder.count(HostileFolder.notes)
      #expect(count == (whole == 0 && isSeen ? nil : whole), "arrived: \(arrived.sorted())")
      // A reader waits at the gap, takes no entry after it, and reports it.
      let next = await folder.read(HostileFolder.notes, after: UInt64(whole))
      if isSeen {
        guard case .failure(let error) = next, error.code == .missingSegment else {
          Issue.record("arrived: \(arrived.sorted()), \(next)")
          continue
        }
        #expect(error.offset == gap)
      } else {
        #expect(try next.get() == .segments([], hasMore: false))
      }
      let lists = await folder.count(HostileFolder.lists)
      #expect(lists == 2)
      let after = try await folder.contents()
      #expect(after == before)
    }
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
  }

  @Test(
    "files with times of 1970, of 2099 or in reverse order are read as usual", arguments: [0, 1, 2])
  func times(_ lie: Int) async throws {
    let folder = try await HostileFolder()
    let future = 4_070_908_800
    let paths = try await folder.contents().keys.sorted()
    for (index, path) in (paths + ["."]).enumerated() {
      var times = [timespec(), timespec()]
      times[1].tv_sec = lie == 0 ? 0 : lie == 1 ? future : future - index * 86_400
      times[0] = times[1]
      #expect(utimensat(AT_FDCWD, "\(folder.path)/\(path)", times, 0) == 0)
    }
    let before = try await folder.contents()
    let counts = (await folder.count(HostileFolder.notes), await folder.count(HostileFolder.lists))
    #expect(counts.0 == 3 && counts.1 == 2)
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
    let after = try await folder.contents()
    #expect(after.filter { before[$0.key] != nil } == before && after.count == before.count + 1)
  }

  @Test(
    "names in another case or with similar characters are skipped",
    arguments: [
      "REMOTE", "Remote", "LOGS/LOG/DIR/0000000000000004", "logs/UPPER/DIR/0000000000000004",
      "logs/LOG/DIR/000000000000000Ａ", "zones/DIR/0000000000000003\u{301}",
      "zones/DIR/000000000000003\u{E9}", "zones/DIR/000000000000003e\u{301}", "logs/LOG/DIR/0x00000000000004",
      "logs/LOG/DIR/+000000000000004", "logs/LOG/DIR/00000000000000004", "logs/LOG/DIR/000000000000004",
    ])
  func alike(_ pattern: String) async throws {
    let folder = try await HostileFolder()
    let log = folder.incarnations[HostileFolder.notes]!.description
    #expect(log != log.uppercased())
    let path = pattern.replacing("UPPER", with: log.uppercased()).replacing("LOG/", with: log + "/")
      .replacing("DIR", with: "0000000000000")
    var directory = folder.path
    for component in path.split(separator: "/").dropLast() {
      directory += "/" + component
      mkdir(directory, 0o700)
    }
    let foreign = folder.bytes(folder.entry(1))
    folder.write(foreign, "\(folder.path)/\(path)")
    let before = try await folder.contents()
    let counts = (await folder.count(HostileFolder.notes), await folder.count(HostileFolder.lists))
    #expect(counts.0 == 3 && counts.1 == 2)
    let outcome = try await folder.append().get()
    #expect(outcome.withOffsetOnly == .appended(SegmentPlace(offset: 4)))
    let after = try await folder.contents()
    #expect(after.filter { before[$0.key] != nil } == before && before.count + 1 == after.count)
  }
}
