import Testing

@testable import ReplayTool

@Suite("Pages that people read")
struct Pages {
  @Test("dump")
  func all() async throws {
    let store = try await ShoppingStore()
    for arguments in [
      ["info"], ["log"], ["log", "--operations", "--reverse"], ["show", "2"], ["show", "3", "--bytes"],
      ["state"], ["state", "shopping:milk"], ["state", "--hidden"],
      ["state", "shopping", "--at", "1"], ["state", "--at", "0"], ["explain", "shopping:milk"],
      ["explain", "shopping:milk", "title"], ["explain", "shopping:milk", "amount"],
      ["explain", "shopping:bread", "--existence"], ["explain", "shopping:bread", "title"], ["conflicts"], ["digest"],
      ["verify"], ["rebuild"],
    ] {
      let result = await Tool().run([arguments[0], store.path] + arguments.dropFirst())
      print("=====", arguments.joined(separator: "|"))
      print(result.output.replacing(store.path, with: "STORE"), terminator: "")
    }
    print("=====END")
  }
}
