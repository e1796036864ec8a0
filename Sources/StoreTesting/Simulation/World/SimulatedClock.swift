/// The time of a world, in milliseconds since it began.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedClock: @unchecked Sendable {
  var milliseconds: Int64 = 0
}
