/// What the machine does with a result that does not belong to its phase. Such a result is a bug: no remote
/// and no store can cause one.
enum MisplacedResults: Sendable {
  /// Trap. Debug builds, and so tests, do.
  case trap
  /// End the zone or the round with a typed failure. An app continues.
  case fail

  static var standard: Self {
    #if DEBUG
      .trap
    #else
      .fail
    #endif
  }

  /// Traps, or gives the failure to end with.
  func failure(_ result: String, in phase: String, scope: SyncFailure.Scope) -> SyncFailure {
    let failure = SyncFailure.misplaced(result, in: phase, scope: scope)
    precondition(self == .fail, failure.message)
    return failure
  }
}

/// The name of an enum's case without what it holds: no segment and no user data in a message.
func caseName(_ value: some Any) -> String {
  Mirror(reflecting: value).children.first?.label ?? "\(value)"
}
