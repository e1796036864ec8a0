import EventStore

/// The environment of a command: its user, the clock, and the sources of randomness and bytes.
struct Console: Sendable {
  /// The result of the command.
  var output: Output
  /// Errors, and the progress of long work.
  var errors: Output
  /// The source for `-`.
  var input: @Sendable () throws -> any ByteSource
  /// Whether the user interrupted the command.
  var isInterrupted: @Sendable () -> Bool = { false }
  /// The wall clock, in milliseconds since 1970.
  var wallMilliseconds: @Sendable () -> Int64 = SystemEnvironment.wallMilliseconds
  /// The clock of a remote's file system, in milliseconds since 1970; nil for its own.
  var folderMilliseconds: (@Sendable () -> UInt64)?
  /// Random bits, for the identity of a new store.
  var makeRandom: @Sendable () -> UInt64 = SystemEnvironment.makeRandom
}
