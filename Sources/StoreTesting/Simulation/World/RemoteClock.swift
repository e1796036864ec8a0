/// The clock of a world's remote, which may be wrong: its server's, or its medium's.
struct RemoteClock: Sendable {
  private let start: Int64
  private let spanMilliseconds: Int64
  private let errors: [RemoteClockError]
  private let clock: SimulatedClock

  /// - Returns: nil in a world whose remote has no clock.
  init?(_ configuration: SimulationConfiguration, _ clock: SimulatedClock) {
    guard let offset = configuration.remoteClockOffset else { return nil }
    start = configuration.startMilliseconds + offset
    spanMilliseconds = configuration.remoteClockSpanMilliseconds
    errors = configuration.remoteClockErrors
    self.clock = clock
  }

  /// In milliseconds since 1970.
  var milliseconds: UInt64 {
    let now = clock.milliseconds
    let span = now / spanMilliseconds
    let shown: Int64 =
      switch errors.isEmpty ? .ahead(0) : errors[Int(span) % errors.count] {
      case .ahead(let milliseconds): now + milliseconds
      case .stands: span * spanMilliseconds
      }
    return UInt64(max(start + shown, 0))
  }
}
