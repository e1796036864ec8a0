import Replicator

/// A fault of the remote in worlds with assets: files are in the place of half of the directories that keep assets, until faults
/// end. Nothing can be read, put or removed there.
final class BlockedDirectories: WorldPart {
  /// What an error of such a place says.
  static let message = "is a file, where a remote keeps assets"

  unowned let world: SimulatedWorld
  /// Which half, by the last bit of the directories' names; nil for none.
  private let half: Int?

  init(_ world: SimulatedWorld) {
    self.world = world
    var choices = world.plan.choices(.inTheWay)
    half = choices.next(below: 2) == 1 ? choices.next(below: 2) : nil
  }

  /// Throws if the directory of an object is blocked.
  func check(_ name: ObjectName) throws(RemoteError) {
    guard !world.isHealed, hasAssets, name.isOfAsset, let half else { return }
    let directory = name.components[2]
    guard options.faults.contains(.assetInTheWay),
      Int(directory.suffix(1), radix: 16).map({ $0 % 2 }) == half
    else { return }
    mark(.assetInTheWay)
    throw RemoteError(.damaged, "\(directory) \(Self.message)", hint: "move it away")
  }
}
