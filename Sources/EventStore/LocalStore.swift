/// A store on this machine: an operation log, and the records that are its fold.
///
/// Open one for a directory, write in closures, read in closures:
///
/// ```swift
/// let store = try LocalStore(directory: "notes.store", durability: .durable)
/// let note = RecordID(zone: ZoneID(name: "notes"), name: "first")
/// try await store.write { tx in
///   try tx.createZone(note.zone)
///   try tx.create(note, type: "note", fields: ["title": "Hello"])
/// }
/// let title = try store.read { tx in try tx.value(of: "title", in: note) }
/// ```
///
/// Writes of many tasks are committed together; reads never wait for them. One process opens a store once;
/// several processes may open the same store.
public final class LocalStore: Sendable {
  /// The directory that holds the store.
  public let directory: String
  public let durability: Durability
  /// Which replica this store is.
  public let identity: StoreIdentity
  /// What all verbs work on.
  let core: StoreCore
  /// Those who observe what they have read.
  let hub: ObserverHub

  /// The version of the format of a store that this code reads and writes.
  public static let formatVersion: UInt64 = OpenedStore.formatVersion

  /// Opens the store of a directory, or makes one there.
  ///
  /// If the log has operations that a former version kept and did not know, and this one does, it is folded
  /// again before the call returns, unless the store is opened read-only.
  ///
  /// - Parameters:
  ///   - directory: path of the directory; the one above it must exist.
  ///   - durability: what a commit that returned means in a power cut.
  ///   - configuration: what else may be chosen.
  /// - Throws: ``StoreError`` `alreadyOpen`, `notAStore`, `newerFormat`, `importUnfinished`, `damaged`,
  ///   `readOnly`, `full`, `system`.
  public init(
    directory: String, durability: Durability, configuration: StoreConfiguration = StoreConfiguration()
  ) throws {
    self.directory = directory
    self.durability = durability
    core = try StoreCore(directory, durability, configuration)
    identity = core.identity
    hub = ObserverHub(core)
    guard !configuration.isReadOnly else { return }
    try StoreError.translating {
      try RebuildRun(core).foldKnownKinds()
      do {
        try core.keepDeclaredFields()
      } catch let error as StoreError where error.code == .full {
        // Only tools read it: the app opens also on a full disk.
      }
    }
    do throws(FileError) {
      try core.assets.sweepIncoming()
    } catch {
      // Files that crashes left stay until the next opening: that does no harm.
    }
    // The same of snapshots.
    try? core.removeLeftOverSnapshots()
  }

  deinit { close() }

  /// Closes the store once the queued writes are done. Open reads continue to their end; later calls throw
  /// `closed`.
  public func close() { core.close() }

  /// Counts what is in the store.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  /// - Complexity: linear in the records, the transactions and the assets.
  public func information() throws -> StoreInformation { try core.information() }
}
