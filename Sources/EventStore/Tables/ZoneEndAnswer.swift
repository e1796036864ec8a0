/// What is to become of a zone here, once its log at the remote has ended.
public enum ZoneEndAnswer: Hashable, Sendable {
  /// The zone goes here too, unless something in it was never sent: then it is kept, as by ``keep``.
  case remove
  /// It is kept and paused, until the app decides.
  case keep
  /// It is kept, and is local from now on.
  case detach
  /// It is made again at the remote with all that is here, and so for everybody.
  case makeAgain
}
