/// What a search has looked at.
struct SearchReport {
  var worlds = 0
  /// Worlds in which nothing moves any more: the invariants were checked there.
  private(set) var atRest = 0
  /// Of these, how many have a log with a limit in it: something was lost, replaced and offered again.
  private(set) var withLimits = 0

  mutating func note(atRest world: World, in tree: LogTree) {
    atRest += 1
    if tree.path(to: world.log).contains(where: { tree.entry(of: $0).limit != nil }) { withLimits += 1 }
  }
}
