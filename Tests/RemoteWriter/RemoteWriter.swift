import EventStore
import OperationFormat
import Replicator
import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A program that the replicator's tests start as a separate process. The first argument selects the task.
@main
struct RemoteWriter {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "append":
      try await append(
        directory: arguments[1], incarnation: arguments[2], replica: arguments[3], count: arguments[4])
      // A process that is to be killed waits for that, however late it comes.
      if arguments.count > 5 { while true { pause() } }
    case "fill": try await fill(directory: arguments[1], incarnation: arguments[2])
    case "round":
      try await Rounds.killed(
        store: arguments[1], folder: arguments[2], effect: Int(arguments[3])!,
        microseconds: arguments.count > 4 ? Int(arguments[4])! : nil)
    case "beside":
      try await Rounds.beside(
        store: arguments[1], folder: arguments[2], writer: arguments[3], count: Int(arguments[4])!)
    case "import": try await Rounds.importAsset(store: arguments[1], file: arguments[2])
    case "first":
      try await Rounds.first(
        store: arguments[1], folder: arguments[2], interruptions: Int(arguments[3])!,
        pageBytesMax: Int(arguments[4])!)
    case "client":
      try await FolderClient.run(
        store: arguments[1], folder: arguments[2], number: Int(arguments[3])!, of: Int(arguments[4])!,
        seed: UInt64(arguments[5])!)
    case "look": try FolderClient.look(store: arguments[1], of: Int(arguments[2])!)
    case "write": try await Rounds.write(store: arguments[1], count: Int(arguments[2])!)
    default: preconditionFailure("no such part: \(arguments.first ?? "none")")
    }
  }

  /// Puts one object of each kind into a remote, which is created if it does not exist.
  private static func fill(directory: String, incarnation: String) async throws {
    let remote = try await FolderRemote.create(directory: directory)
    let incarnation = IncarnationID(incarnation)!
    let zone = ZoneID(name: Name("zone \(incarnation)"))
    _ = try await remote.createZone(zone, proposing: incarnation)
    var maker = SegmentMaker(zone, incarnation, replica: ReplicaID(rawValue: 1))
    _ = try await remote.append(try maker.next(), after: 0)
    let bytes: [UInt8] = [1, 2, 3]
    let hash = ContentHash(of: bytes.span.bytes)
    let manifest = AssetManifest(asset: AssetReference(hash: hash, byteCount: 3), chunks: [hash])!
    try await remote.putAssetChunk(bytes, at: 0, of: RemoteAsset(manifest.asset, of: zone, incarnation))
    _ = try await remote.finishAsset(manifest, of: zone, incarnation)
  }

  /// Appends segments, and prints the offset of each when it is acknowledged.
  private static func append(
    directory: String, incarnation: String, replica: String, count: String
  ) async throws {
    let remote = try await FolderRemote.open(directory: directory)
    var maker = SegmentMaker(
      ZoneID(name: "notes"), IncarnationID(incarnation)!, replica: ReplicaID(rawValue: UInt128(replica)!))
    var last: UInt64 = 0
    for _ in 0..<Int(count)! {
      switch try await remote.append(try maker.next(valueBytes: 5000), after: last) {
      case .appended(let place), .alreadyThere(let place): last = place.offset
      case let other: preconditionFailure("an append gave \(other)")
      }
      Line.print("\(last)\n")
    }
  }
}
