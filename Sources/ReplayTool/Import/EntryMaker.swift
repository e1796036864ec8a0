import EventStore
import Foundation

/// Makes entries of a log of transactions that came from a file.
///
/// Only a store makes entries: so the transactions are folded into a scratch store, whose clock shows each
/// one's time of arrival, and read back from there. What does not follow what came before, or came already,
/// shows here, before the store that is imported into has seen any of it.
final class EntryMaker {
  private let directory: URL
  private let store: LocalStore
  private let arrival: ArrivalClock
  private let incarnation: IncarnationID
  private var offsets: [ZoneID: UInt64] = [:]
  private var position = Position.start

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UUID().uuidString)")
    let arrival = ArrivalClock()
    self.arrival = arrival
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.wallMilliseconds = { arrival.milliseconds }
    store = try LocalStore(directory: directory.path, durability: .consistent, configuration: configuration)
    // One that no file has: what a transaction had seen has no meaning here.
    incarnation = IncarnationID(
      rawValue: UInt128(SystemEnvironment.makeRandom()) << 64 | UInt128(SystemEnvironment.makeRandom()))
  }

  deinit {
    store.close()
    // A scratch directory that cannot be removed is for the system to clear.
    try? FileManager.default.removeItem(at: directory)
  }

  /// The entry of the next transaction.
  ///
  /// - Throws: ``StoreError`` `outOfOrder`, `fork`, `mismatch`, `damaged`.
  func makeEntry(of imported: ImportedTransaction) async throws -> LogEntry {
    let zone = imported.zone
    if offsets[zone] == nil {
      _ = try await store.write { tx in try tx.createZone(zone) }
    }
    let offset = offsets[zone, default: 0] + 1
    arrival.set(imported.arrivedMilliseconds)
    let report = try await store.fold([
      RemoteSegment(
        zone: zone, incarnation: incarnation, offset: offset,
        hash: ContentHash(of: imported.bytes.span.bytes),
        receivedMilliseconds: nil, transactions: [imported.bytes])
    ])
    guard report.folded == 1 else {
      throw StoreError(.outOfOrder, "the transaction stands twice", hint: "remove one of the two lines")
    }
    offsets[zone] = offset
    position = Position(rawValue: position.rawValue + 1)
    return try store.read { transaction in try transaction.entry(at: position) }
  }
}
