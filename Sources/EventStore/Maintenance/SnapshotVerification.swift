import OperationFormat

/// Checks the files of the snapshots that zones begin with.
struct SnapshotVerification {
  private(set) var report: VerificationReport

  init(_ report: VerificationReport) { self.report = report }

  /// Every part has the bytes that were written there. Without them nothing can be compared with the log.
  mutating func check(_ source: borrowing ReadTransaction, _ files: SnapshotFiles) throws {
    let zones = source.readView.zones
    for (number, origin) in try zones.origins() {
      let zone = try zones.id(of: number).map { "\($0)" } ?? "zone \(number.rawValue)"
      guard let manifest = try check(zone, { try files.manifest(of: origin.content) }) else { continue }
      for index in manifest.parts.indices { _ = try check(zone) { try files.part(index, of: manifest) } }
    }
  }

  /// - Returns: what the closure returns; nil if that is damaged.
  private mutating func check<R>(_ zone: String, _ body: () throws -> R) throws -> R? {
    do {
      return try body()
    } catch let error as StoreError where error.code == .damaged {
      report.comparesRecords = false
      report.add(.snapshot, zone, error.message)
      return nil
    }
  }
}
