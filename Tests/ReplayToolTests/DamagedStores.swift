import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Damaged stores")
struct DamagedStores {
  let tool = Tool()

  /// Changes one byte of each occurrence of a text in a data file; returns the changed files.
  private func damaged(_ data: Data, _ text: String) -> [Data] {
    var found: [Data] = []
    var from = data.startIndex
    while let range = data.range(of: Data(text.utf8), in: from..<data.endIndex) {
      var changed = data
      changed[range.lowerBound] ^= 1
      found.append(changed)
      from = range.upperBound
    }
    return found
  }

  @Test("a changed byte is found, and commands that list the log say where")
  func findsChangedBytes() async throws {
    let store = try await ShoppingStore()
    let file = URL(fileURLWithPath: store.path + "/data.mdb")
    let files = damaged(try Data(contentsOf: file), "Oat milk")
    // Old pages have the text too: those are not checked.
    #expect(files.count >= 2)
    var exits: [Int32] = []
    for changed in files {
      try changed.write(to: file)
      let result = await tool.run("verify", store.path)
      exits.append(result.exit)
      guard result.exit == 1 else { continue }
      #expect(result.output.hasPrefix("1 problem, "), "\(result.output)")
      #expect(result.errors == "")
      let isLog = result.output.contains("\nlog ")
      // The advice is printed once, below.
      #expect(!result.output.contains("(damaged)"), "\(result.output)")
      #expect(isLog || result.output.contains("\nrecord  shopping:milk  "), "\(result.output)")
      #expect(result.output.contains("replay rebuild") == !isLog)
      let json = await tool.run("verify", store.path, "--json")
      #expect(json.exit == 1)
      #expect(json.output.contains(#""isSound":false"#))
      let log = await tool.run("log", store.path)
      #expect(log.exit == (isLog ? 3 : 0))
      #expect(log.errors.contains("position 3") == isLog, "\(log.errors)")
      // Everything before it is printed.
      #expect(log.lines.filter { $0.contains("operation") }.count == (isLog ? 2 : 4), "\(log.output)")
      if isLog {
        let file = store.path + ".jsonl"
        let export = await tool.run("export", store.path, "-o", file)
        #expect(
          export.exit == 3 && export.errors.contains("replay export \(store.path) --records"), "\(export)")
        #expect(!export.errors.contains("`replay export` brings out the log"), "\(export)")
        let records = await tool.run("export", store.path, "--records", "-o", file)
        #expect(records.exit == 0, "\(records)")
        let imported = await tool.run("import", store.path + ".new", file)
        #expect(imported.exit == 0, "\(imported)")
        #expect(result.output.contains("replay export --records"), "\(result.output)")
      }
      guard !isLog else { continue }
      let rebuilt = await tool.run("rebuild", store.path)
      #expect(rebuilt.output == "rebuilt 1 zone from 4 transactions\n")
      let again = await tool.run("verify", store.path)
      #expect(again.exit == 0)
    }
    #expect(exits.count { $0 == 1 } == 2, "\(exits)")
  }

  @Test(
    "a page over which LMDB would end the process is reported before it is read",
    arguments: [["verify"], ["export"], ["export", "--records"]])
  func damagedPages(_ arguments: [String]) async throws {
    let store = try await ShoppingStore()
    let file = URL(fileURLWithPath: store.path + "/data.mdb")
    let data = try Data(contentsOf: file)
    let output = arguments == ["verify"] ? [] : ["-o", store.path + ".jsonl"]
    var exits: [Int32: Int] = [:]
    for first in stride(from: 2 * 4096, to: data.count, by: 4096) {
      var changed = data
      // The offsets of the page's entries: far beyond the end of such a small file.
      for index in first + 16..<first + 80 { changed[index] = 0xFF }
      try changed.write(to: file)
      let result = await tool.run(arguments + [store.path] + output)
      exits[result.exit, default: 0] += 1
      #expect(result.exit == 0 || (result.output + result.errors).contains("\(first / 4096)"), "\(result)")
    }
    // Unused pages may be damaged; the tables of records are not everything.
    #expect(exits[0, default: 0] > 0 && exits[3, default: 0] > 0, "\(exits)")
    #expect(exits.keys.contains(1) == (arguments == ["verify"]), "\(exits)")
  }

  @Test("if only pages of records are damaged, the whole log is exported")
  func damagedPagesOfRecords() async throws {
    let store = try await ShoppingStore()
    let file = URL(fileURLWithPath: store.path + "/data.mdb")
    let data = try Data(contentsOf: file)
    let whole = await tool.run("export", store.path).output
    var count = 0
    for first in stride(from: 2 * 4096, to: data.count, by: 4096) {
      var changed = data
      for index in first + 16..<first + 80 { changed[index] = 0xFF }
      try changed.write(to: file)
      guard await tool.run("verify", store.path).exit == 1 else { continue }
      let log = await tool.run("export", store.path)
      guard log.exit == 0 else { continue }
      count += 1
      #expect(log.output == whole)
      #expect(await tool.run("export", store.path, "--records").exit == 3)
    }
    #expect(count > 0)
  }

  @Test("a command that opens damaged stores points to no command that would fail the same way")
  func damagedMetaPage() async throws {
    let store = try await ShoppingStore()
    let file = URL(fileURLWithPath: store.path + "/data.mdb")
    var data = try Data(contentsOf: file)
    for index in 0..<8 { data[10 + index] = 0xFF }
    try data.write(to: file)
    for arguments in [["verify"], ["export"], ["export", "--records"]] {
      let result = await tool.run(arguments + [store.path])
      #expect(result.exit == 3 && result.errors.contains("nothing of this file can be read"), "\(result)")
      #expect(!result.errors.contains("`replay export"), "\(result)")
    }
  }
}
