import LMDB
import Testing

@Suite("A copy of a store")
struct CopyTests {
  let directory = TemporaryDirectory()

  @Test(
    "has the same data and is sound, compacted or not, also while others write", arguments: [false, true])
  func copy(compacting: Bool) async throws {
    let store = directory.directory("store")
    let sample = try SampleStore(in: store, seed: 1)
    let environment = try Environment(directory: store, options: .test())
    let other = try environment.table("other")
    let isDone = Flag()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var round = 0
        while !isDone.isRaised {
          round += 1
          #expect(throws: Never.self) {
            try environment.write { try $0.put(Bytes(repeating: 1, count: round % 3000), [1], other) }
          }
        }
      }
      for number in 0..<5 {
        let copy = directory.directory("copy\(number)")
        #expect(throws: Never.self) {
          try environment.copy(to: copy, compacting: compacting)
          #expect(try PageCheck.check(directory: copy) == [])
          let opened = try Environment(directory: copy, options: .test())
          #expect(try sample.isIn(opened))
        }
      }
      isDone.raise()
    }
    #expect(
      thrownCode { try environment.copy(to: directory("copy0"), compacting: compacting) } == .fileExists)
    #expect(
      thrownCode { try environment.copy(to: directory("missing"), compacting: compacting) } == .noSuchFile)
  }
}
