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

  @Test("it runs all schedules of a size, or one of them")
  func schedules() async throws {
    let tool = Tool()
    let all = await tool.run("foldcheck", "--schedules", "1", "--syncs", "1")
    #expect(all.exit == 0 && all.output.hasPrefix("108 schedules in "), "\(all)")
    let one = await tool.run("foldcheck", "--schedules", "1", "--syncs", "1", "--only", "107")
    #expect(one.exit == 0 && one.output.contains("replica 2 writes at "), "\(one)")
    for arguments in [["--only", "108"], ["--schedules", "4"], ["--syncs", "5"]] {
      let wrong = await tool.run(["foldcheck", "--schedules", "1", "--syncs", "1"] + arguments)
      #expect(wrong.exit == 2, "\(arguments): \(wrong)")
    }
  }

  @Test("an interrupt ends it after the current sequence", .timeLimit(.minutes(20)))
  func ends() async throws {
    var tool = Tool()
    tool.isInterrupted = { true }
    let result = await tool.run("foldcheck", "--sequences", "1000000000", "--threads", "2")
    #expect(result.exit == 130 && result.output == "" && result.errors.contains("interrupted"), "\(result)")
  }
}
