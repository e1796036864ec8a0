/// What a put of an object came to whose bytes depend on the place's time: see
/// ``ObjectStore/putIfAbsent(_:timed:)``.
package enum TimedPut: Hashable, Sendable {
  /// It was written, with the bytes for that time.
  case put(UInt64?)
  /// An object had the name.
  case exists
  /// There were no bytes for that time, so nothing was written.
  case declined(UInt64?)
}
