import Testing

@testable import ReplayTool

@Suite("Pages that people read")
struct Pages {
  let tool = Tool()

  @Test("info, log, show, state, explain", .disabled())
  func dump() async throws {
  }

  @Test("dump")
  func all() async throws {
    let store = try await ShoppingStore()
    for arguments in [
      ["info", store.path], ["log", store.path, "--operations"], ["log", store.path, "--reverse"], ["show", store.path, "3", "--bytes"],
      ["state", store.path], ["state", store.path, "shopping:milk"], ["state", store.path, "--hidden"],
      ["state", store.path, "shopping", "--at", "1"], ["explain", store.path, "shopping:milk"],
      ["explain", store.path, "shopping:milk", "title"], ["explain", store.path, "shopping:milk", "amount"],
      ["explain", store.path, "shopping:bread", "--existence"], ["conflicts", store.path], ["digest", store.path],
      ["verify", store.path], ["explain", store.path, "shopping:bread", "title"],
    ] {
      let result = await tool.run(arguments)
      print("=====", arguments.dropFirst(2), arguments[0], result.exit)
      print(result.output)
      print(result.errors)
    }
  }
}
