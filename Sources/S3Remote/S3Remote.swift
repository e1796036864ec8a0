public import EventStore
public import HTTPRemote
internal import OperationFormat
public import Replicator

/// A remote in a bucket of an object store that speaks S3, without a server.
///
/// ```swift
/// let remote = S3Remote(try S3Address("s3://lists/team"), transport: URLSessionTransport())
/// // Once, on the first device.
/// _ = try await remote.made()
/// ```
///
/// <doc:Buckets> says what it needs of the object store, and what it costs.
public struct S3Remote: RemoteLog, LogOfObjects {
  package let log: ObjectRemote
  private let objects: S3Objects
  private let makeRandom: @Sendable () -> UInt64

  /// A remote that exists. The bucket is looked at in the first call.
  ///
  /// - Parameters:
  ///   - address: where it is.
  ///   - credentials: by what the store knows the caller.
  ///   - isReadOnly: whether it never writes there, not even to complete a deletion of another.
  ///   - patience: for how long an answer may make no progress.
  ///   - counter: counts the calls.
  ///   - transport: sends the requests.
  ///   - clock: the time.
  ///   - wallMilliseconds: the wall clock of this device, in milliseconds since 1970.
  public init(
    _ address: S3Address, credentials: @escaping S3Credentials.Source = S3Credentials.standard,
    isReadOnly: Bool = false, patience: Duration = .seconds(30), counter: RemoteCallCounter? = nil,
    transport: any HTTPTransport, clock: NetworkClock = .system,
    wallMilliseconds: @escaping @Sendable () -> Int64 = SystemEnvironment.wallMilliseconds
  ) {
    let watched = WatchedTransport(
      transport, name: address.description, patience: patience, clock: clock)
    objects = S3Objects(
      exchange: S3Exchange(address, credentials, watched, wallMilliseconds: wallMilliseconds))
    makeRandom = clock.makeRandom
    log = ObjectRemote(
      objects, counter: counter, isReadOnly: isReadOnly, clock: .place(wallMilliseconds: wallMilliseconds),
      makeRandom: clock.makeRandom)
  }

  /// Opens a remote that exists, and looks at it now.
  ///
  /// - Throws: `RemoteError` `notARemote`, `unreachable`, `newerFormat`, `damaged`, `denied`, `unauthenticated`, `moved`.
  public func checked() async throws(RemoteError) -> S3Remote {
    try await log.check()
    return self
  }

  /// Makes a remote where nothing is in the bucket below the prefix. If a remote is there already, it stays as it is. If
  /// several make one at once, all get the same.
  ///
  /// - Throws: `RemoteError` as ``checked()``; `notARemote` if other things are there; `unsuitable` if the object store
  ///   replaces an object that was to be put only if there was none; `overQuota`.
  public func made() async throws(RemoteError) -> S3Remote { try await made(.random(makeRandom)) }

  private func made(_ identity: RemoteID) async throws(RemoteError) -> S3Remote {
    if try await log.isMade() { return try await checked() }
    if let foreign = try await objects.first() {
      // Another may have made it since, and put things there.
      if try await log.isMade() { return try await checked() }
      throw RemoteError(
        .notARemote, "\(name) holds other things, such as \(String(reflecting: foreign))",
        hint: "make the remote at another prefix")
    }
    try await objects.probe(isThorough: true)
    try await log.make(identity)
    return try await checked()
  }

  /// The same place, for the objects that a server keeps beside its logs.
  public var place: ObjectPlace {
    ObjectPlace(objects) { (identity) throws(RemoteError) in _ = try await made(identity) }
  }

  /// Makes the bucket; for tests.
  package func makeBucket() async throws(RemoteError) { try await objects.makeBucket() }

  /// Puts two objects under one key, and removes them. Who may not write there, or has no room, reads without it.
  public func probe() async throws(RemoteError) {
    if log.isReadOnly { return }
    try await log.check()
    do throws(RemoteError) {
      try await objects.probe(isThorough: false)
    } catch {
      if error.code != .denied && error.code != .overQuota { throw error }
    }
  }
}
