/// What can happen, as a search goes through it.
protocol SearchedModel {
  /// Two equal worlds have the same future.
  associatedtype World: Hashable
  associatedtype Step: Hashable

  var start: World { get }
  /// More worlds are an error: a search that does not come to its end proves nothing.
  var worldsMax: Int { get }
  /// The steps of syncing that change a world. If there are none, the world is at rest.
  func syncing(_ world: World) -> [(step: Step, world: World)]
  /// The other steps, as far as there may be more of them.
  func acting(on world: World) -> [(step: Step, world: World)]
  /// What must never be, and is so in a world.
  func violation(in world: World, isAtRest: Bool) -> Violation?
  /// Whether what the search is about has happened in a world at rest.
  func isNotable(_ world: World) -> Bool
  func text(of step: Step) -> String
  func logText(of world: World) -> String
}

extension SearchedModel {
  /// All steps that change a world, each with the world after it.
  func successors(of world: World) -> [(step: Step, world: World)] { syncing(world) + acting(on: world) }

  /// The world after a schedule; nil if one of its steps cannot be taken.
  func world(after schedule: [Step]) -> World? {
    var world = start
    for step in schedule {
      guard let next = successors(of: world).first(where: { $0.step == step }) else { return nil }
      world = next.world
    }
    return world
  }
}
