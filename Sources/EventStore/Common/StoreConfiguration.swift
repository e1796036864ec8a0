public import OperationFormat

#if DEBUG
  import LMDB
#endif

/// What a store is opened with besides its directory and its durability.
public struct StoreConfiguration: Sendable {
  /// Whether a directory without a store gets one.
  public var createsStore = true
  /// Opens read-only: nothing is written, not even a new store.
  public var isReadOnly = false
  /// For a store that is opened read-only: opens it although its pages are damaged, to export what is left of
  /// its log. A damaged page may then end the process, where ``LocalStore/verify(progress:)`` does not find
  /// it first.
  public var opensDamaged = false
  /// Allows a data file on a network file system, where neither locks nor the memory map can be trusted.
  public var allowsNetworkFileSystem = false
  /// Bytes that a field is set to become an asset if there are more: a file beside the data file.
  public var assetThresholdBytes = 64 << 10
  /// The kinds that fields have, by the type of their record. A write with a verb of another kind fails: the
  /// field would be two, of which the app sees one. Fields that are not named may be of any kind.
  ///
  /// The store keeps the kind of a field that has one, for `replay`.
  public var fieldKinds: [Name: [Name: Set<FieldKind>]] = [:]
  /// The fields of models, as their queries look at them. The store keeps them for tools, in place of what
  /// ``fieldKinds`` says of the same types.
  package var declaredFields = DeclaredFields()
  /// Address space to reserve, in bytes; the file does not grow with it.
  public var mapBytes = 1 << 40
  /// The wall clock, in milliseconds since 1970.
  public var wallMilliseconds: @Sendable () -> Int64 = SystemEnvironment.wallMilliseconds
  /// A source of random bits, for identities.
  public var makeRandom: @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  /// The directory with the files of assets, if it is not that of the data file.
  var assetDirectory: String?
  /// The machine's identity, as the system names it; nil if it names none.
  package var machineID: @Sendable () -> String? = SystemEnvironment.machineID
  /// For tests and a simulator only: whether a store that was copied, or put back from a backup, is noticed when it is
  /// opened. If not, the remote log tells.
  package var noticesCopies = true
  /// For tests only: the indexes that a new store has.
  package var indexes: [IndexDefinition] = []
  /// For tests only: no sync at all, so that a power cut may break the store.
  package var isUnsynced = false
  /// For a simulator only: no thread is started, and a write is done by the thread that asks for it, before
  /// the call that queues it returns. It has no effect on a store that is opened read-only.
  package var writesOnCallingThread = false
  /// For a simulator only: called before each commit; returns how it is to fail, or nil.
  package var commitFault: (@Sendable () -> CommitFault?)?
  /// For tests only: where verification and the past fold the log again; nil for `TMPDIR` or, without it,
  /// `/tmp`. A memory-backed directory makes a small store's verification many times faster.
  package var scratchDirectory: String?
  /// For tests and a simulator only: how much a commit that folds may do: see ``FoldBound/stepsMax``; nil for
  /// as much as always.
  package var foldBoundStepsMax: Int?
  /// For tests and a simulator only: called before each call for an asset's file, with its C name; nil lets
  /// it run.
  package var assetFault: (@Sendable (StaticString) -> FileFault?)?
  /// For measurements only: called on the writer's thread right after it has taken the lock that other
  /// writers wait for, and right after it has let it go.
  package var writeLockDidChange: (@Sendable (_ isHeld: Bool) -> Void)?
  /// For tests only: called after each call for an asset's file that succeeded, with its C name and its path.
  var didCallForAsset: (@Sendable (StaticString, String) -> Void)?
  #if DEBUG
    /// For tests only: lets calls of LMDB fail.
    var faults: FaultPlan?
  #endif

  public init() {}
}

extension StoreConfiguration {
  var assetCalls: FileCalls {
    var calls = FileCalls()
    calls.fault = assetFault
    calls.didCall = didCallForAsset
    return calls
  }
}
