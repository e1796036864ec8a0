/// How the clock of a world's remote is wrong for a span of time.
enum RemoteClockError: Hashable, Sendable {
  /// It is so many milliseconds ahead, besides its lasting offset.
  case ahead(Int64)
  /// It shows the start of the span.
  case stands
}
