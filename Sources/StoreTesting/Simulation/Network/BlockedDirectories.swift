import Replicator

/// A fault of the remote in worlds with assets: until faults end, files are in the place of half of the
/// directories that keep assets. Nothing can be read, put or removed there.
struct BlockedDirectories: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Throws if the directory of an object is blocked.
  func check(_ name: ObjectName) throws(RemoteError) {
    guard !world.isHealed, hasAssets, name.isOfAsset, options.faults.contains(.assetInTheWay), let half
    else { return }
    let directory = name.components[2]
    guard Int(directory.suffix(1), radix: 16).map({ $0 % 2 }) == half else { return }
    mark(.assetInTheWay)
    throw RemoteError(
      .damaged, "\(directory) \(ErrorChecker.blockedDirectory)", hint: "move the file to another place")
  }

  /// Which half, by the last bit of the directories' names; nil for none. The seed determines it.
  private var half: Int? {
    var choices = world.plan.choices(.inTheWay)
    return choices.next(below: 2) == 1 ? choices.next(below: 2) : nil
  }
}
