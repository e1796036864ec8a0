import LMDB
import Testing

@Suite("A second process")
struct OtherProcessTests {
  let directory = TemporaryDirectory()

  @Test("a file that another process has grown beyond this one's map is mapped anew")
  func mapResized() async throws {
    let environment = try Environment(directory: directory.path, options: .test(mapBytes: 1 << 20))
    let table = try environment.table("t")
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      let environment = try Environment(directory: path, options: .test(mapBytes: 1 << 26))
      try environment.write { transaction in
        let table = try transaction.openTable("t", create: false)
        for number in UInt8(0)..<50 {
          try transaction.put(Bytes(repeating: 7, count: 100_000), [number], table)
        }
      }
    }
    let count = try environment.read { try $0.entries(table).count }
    #expect(count == 50)
    try environment.write { try $0.put([1], [99], table) }
    #expect(try environment.information.mapBytes == 1 << 26)
  }
}
