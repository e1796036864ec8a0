/// The clock from which a remote's entries get their receive times.
package enum ReceiveClock: Sendable {
  /// None: entries state no receive time.
  case none
  /// The clock of the program that keeps the log, such as a server, in milliseconds since 1970. Each entry states it:
  /// no writer can touch it.
  case keeper(@Sendable () -> UInt64)
  /// The clock of the place, such as the server of a share, and the wall clock of this writer, in milliseconds since
  /// 1970. The place's is not trusted alone: ``ReceiveTimeRule`` decides whether an entry states it.
  case place(wallMilliseconds: @Sendable () -> Int64)
}
