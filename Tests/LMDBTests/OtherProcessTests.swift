import LMDB
import Testing

@Suite("A second process")
struct OtherProcessTests {
  let directory = TemporaryDirectory()

  @Test("if another process grows the file beyond this one's map, it is mapped again")
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

  @Test("a store is opened and checked while another process writes, and no damage is found in it")
  func openUnderLoad() async throws {
    let path = directory.path
    var options = Environment.Options.test()
    options.tablesMax = 100
    do {
      // A large table of tables, whose last page is written by each commit.
      let environment = try Environment(directory: path, options: options)
      for number in 10..<70 { _ = try environment.table(String(repeating: "\(number)", count: 200)) }
      _ = try environment.table("t")
    }
    let isDone = Flag()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await #expect(processExitsWith: .success) { [path = path as String] in
          var options = Environment.Options.test()
          options.tablesMax = 100
          let environment = try Environment(directory: path, options: options)
          let table = try environment.table("t")
          for round in 0..<3000 {
            try environment.write { transaction in
              for row in UInt8(0)..<40 {
                try transaction.put(Bytes(repeating: 1, count: 100 * (round % 7)), [row], table)
              }
            }
          }
        }
        isDone.raise()
      }
      group.addTask { [options] in
        while !isDone.isRaised {
          #expect(throws: Never.self) {
            let environment = try Environment(directory: path, options: options)
            let entries = try environment.read { try $0.entries($0.openTable("t", create: false)) }
            #expect(Set(entries.map(\.value.count)).count <= 1)
          }
          // Another test may use the other thread for a long time.
          await Task.yield()
        }
      }
    }
    #expect(try PageCheck.check(directory: path) == [])
  }
}
