import LMDB
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Bytes that a seed tells, which no other seed gives.
func assetBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var generator = SeededGenerator(seed: seed)
  var words = [UInt64](repeating: 0, count: (count + 7) / 8)
  for index in words.indices { words[index] = generator.next() }
  return words.withUnsafeBytes { Array($0.prefix(count)) }
}

extension LocalStore {
  /// All bytes of an asset, as its stream gives them.
  func assetContent(_ asset: AssetReference, pieceBytes: Int = 1 << 16) throws -> [UInt8] {
    var reader = try openAsset(asset)
    var bytes: [UInt8] = []
    while let piece = try reader.next(bytesMax: pieceBytes) { bytes += piece }
    return bytes
  }

  func asset(_ field: Name, _ record: RecordID) throws -> AssetReference? {
    guard case .asset(let asset)? = try value(field, record) else { return nil }
    return asset
  }

  /// The files that the store has of assets: below `assets`, with slashes.
  func assetFiles() -> [String] { filesBelow(directory + "/assets") }

  /// Ends what imports wait for: time has passed.
  func forgetHolds() throws {
    for row in try rows(\.assets) where row.key[0] == 3 { try overwrite(row.key, [0], in: \.assets) }
  }
}

/// The files below a directory, in the order of their paths.
func filesBelow(_ path: String, _ prefix: String = "") -> [String] {
  guard let stream = opendir(path) else { return [] }
  defer { closedir(stream) }
  var found: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name == "." || name == ".." { continue }
    if entry.pointee.d_type == UInt8(DT_DIR) {
      found += filesBelow("\(path)/\(name)", "\(prefix)\(name)/")
    } else {
      found.append(prefix + name)
    }
  }
  return found.sorted()
}

/// Lets the calls for assets' files fail from one on, all of them: as if the process had been killed there. What it
/// would have cleaned up stays.
final class StepCounter: Sendable {
  private struct State {
    var steps = 0
    var last = Int.max
    var names: [String] = []
  }

  private let state = Mutex(State())
  private let number: Int32

  /// - Parameter number: the `errno` that calls fail with.
  init(number: Int32 = EIO) { self.number = number }

  /// How many calls have been made.
  var steps: Int { state.withLock { $0.steps } }

  /// Whether a call has failed.
  var hasFailed: Bool { state.withLock { $0.steps > $0.last } }

  /// Lets all calls after so many fail, counted from now.
  func fail(after steps: Int) {
    state.withLock { $0 = State(steps: 0, last: steps) }
  }

  func fault(_ name: StaticString) -> FileFault? {
    state.withLock { state in
      state.steps += 1
      return state.steps > state.last ? .before(number) : nil
    }
  }
}
