internal import EventStore

/// The time and the randomness of what talks over a network: a simulation or a test gives others.
public struct NetworkClock: Sendable {
  /// Nanoseconds that never go back, from any start.
  public var now: @Sendable () -> Int64
  /// Returns after a time, or throws if the task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void
  /// Random bits.
  public var makeRandom: @Sendable () -> UInt64

  public init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Duration) async throws -> Void,
    makeRandom: @escaping @Sendable () -> UInt64
  ) {
    (self.now, self.sleep, self.makeRandom) = (now, sleep, makeRandom)
  }

  /// That of the system.
  public static let system: NetworkClock = {
    let start = ContinuousClock.now
    return NetworkClock(
      now: { (ContinuousClock.now - start).nanoseconds }, sleep: { try await Task.sleep(for: $0) },
      makeRandom: SystemEnvironment.makeRandom)
  }()

  /// A time that is at random up to a half longer: of those who wait for the same, not all come back at once.
  package func spread(_ duration: Duration) -> Duration {
    duration + .nanoseconds(Int64(Double(duration.nanoseconds) * Double(makeRandom() % 1024) / 2048))
  }
}

extension Duration {
  /// Whole nanoseconds.
  package var nanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}
