import EventStore
import OperationFormat
import Replicator
import Synchronization

/// What a device finds where its remote should be.
enum RemoteMount: Sendable { case right, nothing, foreign, old }

/// The remote of a world, and what else may be in its place.
final class SimulatedPlace: Sendable {
  /// Nil where the remote is the app's own.
  private let objects: KeptObjects?
  let server: any RemoteLog
  private let foreign: MemoryObjects
  private let receivedMilliseconds: (@Sendable () -> UInt64)?
  private let makeRandom: @Sendable () -> UInt64
  /// The number of objects at the last call of ``takeChange()``.
  private let seen = Mutex(0)
  /// The remote without a network in front of it.
  let observer: any RemoteLog
  /// An old copy of the remote; nil while there is none.
  private let copied = Mutex<MemoryObjects?>(nil)

  init(
    _ objects: any ObjectStore, marker: [UInt8], foreign: MemoryObjects,
    receivedMilliseconds: (@Sendable () -> UInt64)?, makeRandom: @escaping @Sendable () -> UInt64
  ) {
    let kept = KeptObjects(objects, marker: marker)
    self.objects = kept
    self.receivedMilliseconds = receivedMilliseconds
    self.makeRandom = makeRandom
    server = ObjectRemote(kept, receivedMilliseconds: receivedMilliseconds, makeRandom: makeRandom)
    observer = ObjectRemote(objects, isReadOnly: true)
    self.foreign = foreign
  }

  /// A remote of the app's own, on a server.
  private init(_ remote: any RemoteLog, foreign: MemoryObjects, makeRandom: @escaping @Sendable () -> UInt64)
  {
    objects = nil
    self.makeRandom = makeRandom
    receivedMilliseconds = nil
    server = remote
    observer = remote
    self.foreign = foreign
  }

  /// The objects, if the remote has objects that can be damaged.
  var kept: KeptObjects? { objects }

  /// Whether anything may have been put since the last call.
  func takeChange() -> Bool {
    guard let count = objects?.count else { return true }
    return seen.withLock { seen in
      defer { seen = count }
      return seen != count
    }
  }

  /// Copies the remote as it is now.
  ///
  /// - Returns: false if there is one, or none can be made.
  func copy() -> Bool {
    guard let objects else { return false }
    return copied.withLock { copied in
      guard copied == nil else { return false }
      copied = objects.copy()
      return true
    }
  }

  var isCopied: Bool { copied.withLock { $0 != nil } }

  /// The copy, which can be written to. An error if none was made.
  func oldCopy() throws(RemoteError) -> MemoryObjects {
    guard let copy = copied.withLock({ $0 }) else {
      throw RemoteError(.notARemote, "there is no copy", hint: "make one first")
    }
    return copy
  }

  /// The remote that a device with a mount calls.
  func log(as mount: RemoteMount) throws(RemoteError) -> any RemoteLog {
    mount == .right ? server : makeLog(over: try self.objects(as: mount))
  }

  /// The log's algorithm over objects.
  func makeLog(over objects: any ObjectStore) -> ObjectRemote {
    ObjectRemote(objects, receivedMilliseconds: receivedMilliseconds, makeRandom: makeRandom)
  }

  /// The object store that a device with a mount calls.
  func objects(as mount: RemoteMount) throws(RemoteError) -> any ObjectStore {
    switch mount {
    case .right: objects ?? ReadOnlyObjects(MemoryObjects(name: "nothing"))
    case .nothing: ReadOnlyObjects(MemoryObjects(name: "nothing"))
    case .foreign: ReadOnlyObjects(foreign)
    case .old: ReadOnlyObjects(try oldCopy())
    }
  }
}

extension SimulatedPlace {
  /// Makes an empty remote.
  ///
  /// - Parameter makeRemote: makes the app's own; nil for a built-in one.
  static func make(
    _ configuration: SimulationConfiguration, _ makeRemote: (@Sendable () -> any RemoteLog)?,
    _ directory: String, _ clock: SimulatedClock, _ executor: SimulatedExecutor, _ random: SeededRandom
  ) throws -> SimulatedPlace {
    let random = DeviceRandom(random)
    let identity = RemoteID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let other = RemoteID(rawValue: UInt128(random.next()) << 64 | UInt128(random.next()))
    let foreign = MemoryRemote(identity: other, name: "foreign").objects
    if let makeRemote {
      return SimulatedPlace(makeRemote(), foreign: foreign, makeRandom: { random.next() })
    }
    let memory = MemoryRemote(identity: identity).objects
    let marker = memory.contents[.marker]!
    var objects: any ObjectStore = memory
    if configuration.place == .folder {
      let folder = FolderObjects(
        directory: "\(directory)/remote", blocksCallers: true, makeRandom: { random.next() })
      try executor.wait { try await folder.create(identity) }
      objects = folder
    }
    let start = configuration.startMilliseconds
    let receivedMilliseconds = configuration.remoteClockOffset.map { offset in
      { @Sendable in UInt64(start + offset + clock.milliseconds) }
    }
    return SimulatedPlace(
      objects, marker: marker, foreign: foreign, receivedMilliseconds: receivedMilliseconds,
      makeRandom: { random.next() })
  }
}

extension FetchOutcome {
  /// The same as an older version sees it, for which some segments are of a newer format.
  func asNewer(_ isNewer: (UInt64) -> Bool) -> FetchOutcome {
    guard case .segments(var page, let hasMore) = self else { return self }
    for index in page.indices where isNewer(page[index].offset) { page[index].raiseVersion() }
    return .segments(page, hasMore: hasMore)
  }
}

extension StoredSegment {
  /// Makes the header that of a version to come: four bytes of magic, then the version; after the flags, the
  /// header's bytes, of which the last four are the checksum of the others.
  fileprivate mutating func raiseVersion() {
    guard bytes.count > 8 else { return }  // cut short on its way
    let count = Int(bytes[6]) | Int(bytes[7]) << 8
    guard count > 8, count <= bytes.count else { return }
    bytes[4] = 255
    let header = Array(bytes[..<(count - 4)])
    let checksum = crc32c(header.span.bytes)
    for index in 0..<4 { bytes[count - 4 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
  }
}
