import EventStore

/// What a command talks to: its user, the clock, and the sources of randomness and bytes.
struct Console: Sendable {
  /// What the command was asked for.
  var output: Output
  /// Errors, and progress of long work.
  var errors: Output
  /// Where `-` reads from.
  var input: @Sendable () throws -> any ByteSource
  /// Whether the user asked for an end.
  var isInterrupted: @Sendable () -> Bool = { false }
  /// The wall clock, in milliseconds since 1970.
  var wallMilliseconds: @Sendable () -> Int64 = SystemEnvironment.wallMilliseconds
  /// Random bits, for the identity of a new store.
  var makeRandom: @Sendable () -> UInt64 = SystemEnvironment.makeRandom
}
