import OperationFormat
import Testing

@testable import EventStore

@Suite("Names in the content of a snapshot")
struct NamesInSnapshots {
  @Test("each stands there once: packed, the same one a million times would be a few bytes")
  func once() throws {
    let part = SnapshotManifest.Part(byteCount: 9, storedBytes: 9, hash: .zero)
    let manifest = SnapshotManifest(
      zone: "notes", incarnation: IncarnationID(rawValue: 5), offset: 1, hash: .zero,
      chain: LogChain(hash: .zero), content: .zero, digest: .zero, records: 0, parts: [part])
    var decoder = SnapshotDecoder(manifest, content: { _ in [] })
    // “a”, “b”, the first again by its number, and then “a” as a new one.
    decoder.take([0, 1, 0x61, 0, 1, 0x62, 1, 0, 1, 0x61])
    #expect(try [decoder.readName(), decoder.readName(), decoder.readName()] == [0, 1, 0])
    do {
      _ = try decoder.readName()
      Issue.record("read twice")
    } catch let error as FormatError {
      #expect(error.code == .invalid && error.found.contains("a"), "\(error)")
    }
    #expect(decoder.names.count == 2)
  }
}
