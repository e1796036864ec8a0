/// What must hold in every world, not only at rest.
extension CompactionModel {
  func violation(in world: CompactionWorld, isAtRest: Bool) -> Violation? {
    checker.violation(in: world.basic.log) ?? unequal(world)
      ?? model.violation(in: world.basic, isAtRest: isAtRest)
  }

  /// Each store has what the log up to its token makes, and its pending work on top, as if that came next.
  private func unequal(_ world: CompactionWorld) -> Violation? {
    for (index, replica) in world.basic.replicas.enumerated() {
      var store = world.stores[index]
      store.state = checker.state(after: replica.read)
      foldPending(pending(of: replica, beyond: replica.read), into: &store)
      if !store.state.isEqual(world.stores[index].state) {
        return Violation(
          kind: .unequal,
          text: "replica \(index) has \(world.stores[index].state), and the log says \(store.state)")
      }
    }
    return nil
  }
}
