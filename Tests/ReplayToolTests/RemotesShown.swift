import EventStore
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

#if canImport(Glibc)
  import Glibc
#endif

@Suite("The output of `replay remote`")
struct RemotesShown {
  @Test("a sound remote, and one with a cut segment")
  func areChecked() async throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/remote"
    let remote = try await FolderRemote.create(directory: path)
    let zone = ZoneID(name: "notes")
    let incarnation = try await remote.createZone(zone, proposing: IncarnationID(rawValue: 7))
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    for offset in 0..<3 as Range<UInt64> { _ = try await remote.append(try maker.next(), after: offset) }
    let sound = await Tool().run("remote", "folder:\(path)")
    #expect(sound.exit == 0, "\(sound.errors)")
    #expect(sound.output.contains("up to sequence 3"))
    #expect(sound.output.contains("sound"))
    // A missing file in the middle of a log is reported.
    let second = "\(path)/logs/\(incarnation)/0000000000000/0000000000000002"
    #expect(rename(second, directory.path + "/elsewhere") == 0)
    let hole = await Tool().run("remote", "folder:\(path)")
    #expect(hole.exit == 1 && hole.output.contains("0000000000000002 is missing"), "\(hole.output)")
    #expect(rename(directory.path + "/elsewhere", second) == 0)
    let unknown = await Tool().run("remote", "folder:\(path)", "--zone", "nowhere")
    #expect(unknown.exit != 0 && !unknown.output.contains("sound"), "\(unknown.output)")
    #expect(truncate("\(path)/logs/\(incarnation)/0000000000000/0000000000000002", 90) == 0)
    let damaged = await Tool().run("remote", "folder:\(path)", "--json")
    #expect(damaged.exit == 1)
    #expect(damaged.output.contains("0000000000000002"))
    let missing = await Tool().run("remote", "folder:\(path)-away")
    #expect(missing.exit == 4)
    #expect(missing.errors.contains("hint:"))
  }
}
