#if PLANTED_BUGS
  import OperationFormat
  import Testing

  @testable import ReplayTool

  @Suite("Which bugs are planted")
  struct PlantedBugChoices {
    @Test("the tenths are all of them, each in one")
    func hasParts() throws {
      for count in [1, 2, 3, 10, 100] {
        var bugs: [PlantedBug] = []
        for part in 1...count { bugs += try SimulateCommand.bugs("\(part)/\(count)") }
        #expect(bugs.count == PlantedBug.allCases.count && Set(bugs) == Set(PlantedBug.allCases))
      }
      let all = try SimulateCommand.bugs("all")
      #expect(all == PlantedBug.allCases)
      let two = try SimulateCommand.bugs("tokenBeforeData,baseGoesBack")
      #expect(two == [.tokenBeforeData, .baseGoesBack])
    }

    @Test(
      "no other part is one",
      arguments: ["0/10", "11/10", "1/0", "/", "1/", "a/b", "-1/10", "1/2/3", "", "tokens"])
    func refuses(_ text: String) {
      #expect(throws: ToolError.self) { _ = try SimulateCommand.bugs(text) }
    }
  }
#endif
