/// What can happen, as a search goes through it.
protocol SearchedModel {
  /// Two equal worlds have the same future.
  associatedtype SearchedWorld: Hashable
  associatedtype SearchedStep: Hashable

  var start: SearchedWorld { get }
  /// More worlds are an error: a search that does not come to its end proves nothing.
  var worldsMax: Int { get }
  /// The steps of syncing that change a world. If there are none, the world is at rest.
  func syncing(_ world: SearchedWorld) -> [(step: SearchedStep, world: SearchedWorld)]
  /// The other steps, as far as there may be more of them.
  func acting(on world: SearchedWorld) -> [(step: SearchedStep, world: SearchedWorld)]
  /// What must never be, and is so in a world.
  func violation(in world: SearchedWorld, isAtRest: Bool) -> Violation?
  /// Whether what the search is about has happened in a world at rest.
  func isNotable(_ world: SearchedWorld) -> Bool
  func text(of step: SearchedStep) -> String
  func logText(of world: SearchedWorld) -> String
}

extension SearchedModel {
  /// All steps that change a world, each with the world after it.
  func successors(of world: SearchedWorld) -> [(step: SearchedStep, world: SearchedWorld)] {
    syncing(world) + acting(on: world)
  }

  /// The world after a schedule; nil if one of its steps cannot be taken.
  func world(after schedule: [SearchedStep]) -> SearchedWorld? {
    var world = start
    for step in schedule {
      guard let next = successors(of: world).first(where: { $0.step == step }) else { return nil }
      world = next.world
    }
    return world
  }
}
