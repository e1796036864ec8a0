import Foundation
import StoreTesting
import Testing

@testable import EventStore

@Suite("Folding the log again in a chosen scratch directory")
struct ScratchDirectoryTests {
  let directory = TemporaryDirectory()
  let scratch = TemporaryDirectory()

  private func makeStore(scratch path: String) throws -> LocalStore {
    let store = try directory.store {
      $0.mapBytes = 256 << 20
      $0.scratchDirectory = path
    }
    try store.writeBlockingThisThread { tx in
      try tx.createZone(noteZone)
      try tx.create(note("first"), type: "note")
    }
    return store
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: scratch.path)
  }

  @Test("a store that is read only folds its past there until it is closed; a verification leaves nothing")
  func chosen() throws {
    let store = try makeStore(scratch: scratch.path)
    let report = try store.verify()
    #expect(report.isSound)
    #expect(try names() == [])
    store.close()
    let reader = try directory.store {
      $0.scratchDirectory = scratch.path
      $0.isReadOnly = true
    }
    var past: StoreSnapshot? = try reader.snapshotBlockingThisThread(at: try reader.lastPosition())
    #expect(try names().count == 1)
    let isThere = try past?.read { try $0.contains(note("first")) }
    #expect(isThere == true)
    reader.close()
    #expect(code { _ = try past?.read { try $0.contains(note("first")) } } == .closed)
    past = nil
    #expect(try names() == [])
  }

  @Test("a missing directory is an error with its path")
  func missing() throws {
    let path = scratch.path + "/absent"
    let store = try makeStore(scratch: path)
    let error = #expect(throws: StoreError.self) { try store.verify() }
    #expect(error?.code == .system)
    #expect(error?.message.contains(path) == true)
  }
}
