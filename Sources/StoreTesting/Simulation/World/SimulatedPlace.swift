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
  /// Gives entries their receive times that no device puts.
  private let clock: ReceiveClock
  private let makeRandom: @Sendable () -> UInt64
  /// The number of objects at the last call of ``takeChange()``.
  private let seen = Mutex(0)
  /// The remote without a network in front of it.
  let observer: any RemoteLog
  /// An old copy of the remote; nil while there is none.
  private let copied = Mutex<MemoryObjects?>(nil)
  /// What clocks showed when devices put entries: a device's, and the remote's.
  private let receipts = Mutex<[ObjectName: (wall: Int64, place: Int64)]>([:])

  private init(
    _ objects: any ObjectStore, marker: [UInt8], foreign: MemoryObjects, clock: ReceiveClock,
    makeRandom: @escaping @Sendable () -> UInt64
  ) {
    let kept = KeptObjects(objects, marker: marker)
    self.objects = kept
    self.clock = clock
    self.makeRandom = makeRandom
    server = ObjectRemote(kept, clock: clock, makeRandom: makeRandom)
    observer = ObjectRemote(objects, isReadOnly: true)
    self.foreign = foreign
  }

  /// A remote of the app's own, on a server.
  private init(_ remote: any RemoteLog, foreign: MemoryObjects, makeRandom: @escaping @Sendable () -> UInt64)
  {
    objects = nil
    self.makeRandom = makeRandom
    clock = .none
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

  /// Copies the remote as it is now, unless there is a copy.
  ///
  /// - Returns: whether there is one; false if none can be made.
  func copyOnce() -> Bool {
    guard let objects else { return false }
    copied.withLock { copied in
      if copied == nil { copied = objects.copy() }
    }
    return true
  }

  /// The copy. An error if none was made.
  private func oldCopy() throws(RemoteError) -> MemoryObjects {
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
  ///
  /// - Parameter wallMilliseconds: the wall clock of the device that runs it; nil for one that is right.
  func makeLog(
    over objects: any ObjectStore, wallMilliseconds: (@Sendable () -> Int64)? = nil
  ) -> ObjectRemote {
    var clock = clock
    if case .place = clock, let wallMilliseconds { clock = .place(wallMilliseconds: wallMilliseconds) }
    return ObjectRemote(objects, clock: clock, makeRandom: makeRandom)
  }

  /// Notes what clocks showed when a device put an object.
  func note(_ name: ObjectName, wall: Int64, place: UInt64) {
    receipts.withLock { $0[name] = (wall, Int64(place)) }
  }

  /// What they showed; nil if no device has put it, or the remote has no clock.
  func receipt(of name: ObjectName) -> (wall: Int64, place: Int64)? { receipts.withLock { $0[name] } }

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
    let remoteClock = RemoteClock(configuration, clock)
    let milliseconds = remoteClock.map { clock in { @Sendable in clock.milliseconds } }
    let memory = MemoryObjects(milliseconds: milliseconds)
    let marker = MemoryRemote(identity: identity).objects.contents[.marker]!
    memory.contents[.marker] = marker
    var objects: any ObjectStore = memory
    if configuration.place == .folder {
      let folder = FolderObjects(
        directory: "\(directory)/remote", blocksCallers: true, milliseconds: milliseconds,
        makeRandom: { random.next() })
      try executor.wait { try await folder.create(identity) }
      objects = folder
    }
    let start = configuration.startMilliseconds
    let receiveClock: ReceiveClock =
      switch (configuration.place, milliseconds) {
      case (_, nil): .none
      case (.server, let milliseconds?): .keeper(milliseconds)
      case (.objects, _), (.folder, _): .place { start + clock.milliseconds }
      }
    return SimulatedPlace(
      objects, marker: marker, foreign: foreign, clock: receiveClock, makeRandom: { random.next() })
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
