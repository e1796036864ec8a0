import Testing

@testable import ReplayTool

@Suite("Checking the fold from the command line")
struct FoldCheckCommands {
  @Test("it prints what it ran, as text and as data")
  func runs() async throws {
    let tool = Tool()
    let text = await tool.run("foldcheck", "--sequences", "50", "--seed", "3")
    #expect(text.exit == 0 && text.errors == "", "\(text)")
    #expect(text.output.hasPrefix("seed 3: 50 sequences in ") && text.output.hasSuffix("\nsound\n"))
    let json = await tool.run("foldcheck", "--sequences", "50", "--seed", "3", "--json")
    #expect(json.exit == 0 && json.output.contains(#""sequences" : 50"#), "\(json)")
    let planted = await tool.run("foldcheck", "--plant", "nothing", "--sequences", "50")
    #expect(planted.exit == 2 && planted.errors.contains("there is no fault"), "\(planted)")
  }

  @Test("an interrupt ends it after the current sequence", .timeLimit(.minutes(20)))
  func ends() async throws {
    var tool = Tool()
    tool.isInterrupted = { true }
    let result = await tool.run("foldcheck", "--sequences", "1000000000", "--threads", "2")
    #expect(result.exit == 130 && result.output == "" && result.errors.contains("interrupted"), "\(result)")
  }
}
