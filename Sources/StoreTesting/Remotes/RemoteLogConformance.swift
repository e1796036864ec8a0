public import Replicator

/// What every `RemoteLog` must do, as checks that need no test framework.
///
/// ```swift
/// @Test(arguments: RemoteLogConformance.checks)
/// func keepsTheContract(_ check: RemoteLogConformance.Check) async throws {
///   try await RemoteLogConformance { doors in
///     let directory = …
///     return try await (0..<doors).map { _ in try await MyRemote(directory) }
///   }.run(check)
/// }
/// ```
public struct RemoteLogConformance: Sendable {
  /// Opens a new and empty remote through several doors. Each door is a client, such as another process has.
  public typealias Making = @Sendable (_ doors: Int) async throws -> [any RemoteLog]

  /// Opens a remote as ``Making`` does, and gives a closure that damages its stored entries.
  public typealias MakingDamageable =
    @Sendable (_ doors: Int) async throws -> (
      doors: [any RemoteLog], damage: Damaging
    )

  /// Damages the entry at an offset of a log, or gives it up.
  public typealias Damaging = @Sendable (EntryDamage, IncarnationID, _ offset: UInt64) async throws -> Void

  /// What may have become of an entry of a log.
  public enum EntryDamage: Hashable, Sendable, CaseIterable {
    /// It is not there any more.
    case missing
    /// 300 zero bytes are in its place: nobody can read whose it was.
    case zeros
    /// A bit of the segment's last byte is wrong: its header can be read.
    case flipped
    /// As ``zeros``, and the remote's owner has put a tombstone.
    case givenUp
    /// As ``flipped``, and the remote's owner has put a tombstone.
    case flippedAndGivenUp
  }

  /// One thing that must hold.
  public struct Check: Sendable, CustomStringConvertible {
    /// What must hold, a sentence.
    public let name: String
    let doors: Int
    let body: @Sendable (RemoteTrial) async throws -> Void

    public var description: String { name }

    init(_ name: String, doors: Int = 2, _ body: @escaping @Sendable (RemoteTrial) async throws -> Void) {
      self.name = name
      self.doors = doors
      self.body = body
    }
  }

  /// What did not hold.
  public struct Failure: Error, CustomStringConvertible {
    public let check: String
    public let message: String
    public let seed: UInt64

    public var description: String { "\(check): \(message) (seed \(seed))" }
  }

  private let seed: UInt64
  private let triesMax: Int
  private let make: MakingDamageable

  /// Creates the suite for one kind of remote.
  ///
  /// - Parameters:
  ///   - seed: decides about all that is random.
  ///   - triesMax: how often a call is made that ends with `unreachable`, `later` or `overQuota`: 1 for a
  ///     remote that has no excuse, more for one behind a bad network.
  ///   - make: makes a remote for a check.
  public init(seed: UInt64 = 1, triesMax: Int = 1, _ make: @escaping Making) {
    self.seed = seed
    self.triesMax = triesMax
    self.make = { doors in
      (
        try await make(doors),
        { damage, _, offset in
          throw Failure(
            check: "\(damage)", message: "nothing says how offset \(offset) is damaged", seed: seed)
        }
      )
    }
  }

  /// Creates the suite for a remote whose entries can be damaged: ``damageChecks`` need it.
  ///
  /// - Parameters:
  ///   - seed: decides about all that is random.
  ///   - triesMax: as in ``init(seed:triesMax:_:)``.
  ///   - make: makes a remote for a check.
  public init(seed: UInt64 = 1, triesMax: Int = 1, damageable make: @escaping MakingDamageable) {
    self.seed = seed
    self.triesMax = triesMax
    self.make = make
  }

  /// Runs a check on a remote of its own.
  ///
  /// - Throws: ``Failure``, or an error of the remote that it should not have thrown.
  public func run(_ check: Check) async throws {
    let (doors, damage) = try await make(check.doors)
    let trial = RemoteTrial(
      check: check.name, doors: doors, seed: seed, triesMax: triesMax, damage: damage)
    try await check.body(trial)
  }

  /// The checks that damage nothing.
  public static let checks: [Check] =
    RemoteZoneChecks.all + RemoteAppendChecks.all + RemoteFetchChecks.all + RemoteDeletionChecks.all
    + RemoteReopeningChecks.all + RemoteDiscardChecks.all + RemoteAssetChecks.all + RemoteSnapshotChecks.all
    + RemoteTrimChecks.all
    + RemoteHintChecks.all

  /// What must hold where entries of a log are damaged or missing, or were given up. They run in a suite made
  /// by ``init(seed:triesMax:damageable:)``.
  public static let damageChecks: [Check] = RemoteDamageChecks.all
}
