extension SimulationConfiguration {
  /// Lets the remote's clock be wrong, if it has one. It is drawn apart, so that worlds without that stay what they are.
  mutating func addRemoteClock(_ options: SimulationOptions, _ choices: inout SimulationChoices) {
    let isOff = choices.happens(perMille: 150)
    let isIn1970 = choices.next(below: 2) == 0
    let jumps = choices.happens(perMille: 250)
    let span: Int64 = choices.pick([600_000, 30_000, 21_600_000])
    let errors = (0..<8).map { _ in drawError(&choices) }
    guard remoteClockOffset != nil, options.makeRemote == nil else { return }
    if isOff, options.faults.contains(.remoteClockOff) {
      add(.remoteClockOff)
      remoteClockOffset = (isIn1970 ? 0 : 4_070_908_800_000) - startMilliseconds
    }
    if jumps, options.faults.contains(.remoteClockJump) {
      add(.remoteClockJump)
      (remoteClockSpanMilliseconds, remoteClockErrors) = (span, errors)
    }
  }

  private func drawError(_ choices: inout SimulationChoices) -> RemoteClockError {
    switch choices.next(below: 8) {
    case 0...2: .ahead(0)
    case 3: .ahead(3_600_000)
    case 4: .ahead(-3_600_000)
    case 5: .ahead(-startMilliseconds)
    case 6: .ahead(4_070_908_800_000 - startMilliseconds)
    default: .stands
    }
  }
}
