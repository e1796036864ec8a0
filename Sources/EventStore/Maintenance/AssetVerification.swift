import LMDB
import OperationFormat

/// Verifies the assets: what counts and lists them is what the log names, and each file has the bytes that
/// its hash says.
struct AssetVerification {
  private(set) var report: VerificationReport
  /// How many transactions of the log name each asset, by zone.
  private let assetNames: [AssetName: UInt64]
  /// Whether what counts assets is behind the log.
  private let isFoldingAgain: Bool

  init(_ report: VerificationReport, names: [AssetName: UInt64], isFoldingAgain: Bool) {
    self.report = report
    assetNames = names
    self.isFoldingAgain = isFoldingAgain
  }

  /// What is counted is what the log names, and every file has the bytes that its name says.
  mutating func check(
    _ source: borrowing ReadTransaction, _ files: AssetFiles,
    _ progress: (VerificationProgress) throws -> Void
  ) throws {
    var wanted: Set<AssetName> = []
    var named: Set<AssetReference> = []
    try checkCounts(source, wanted: &wanted, named: &named)
    let sorted = named.sorted { ($0.hash.description, $0.byteCount) < ($1.hash.description, $1.byteCount) }
    try checkFiles(sorted, wanted, files, progress)
    try countUnnamed(source, files)
  }

  private mutating func checkCounts(
    _ source: borrowing ReadTransaction, wanted: inout Set<AssetName>, named: inout Set<AssetReference>
  ) throws {
    var listed: Set<AssetName> = []
    var unsent: Set<AssetName> = []
    var left = assetNames
    // Where entries of the log could not be read, it is unknown what they name.
    let isLogRead = !report.problems.contains { $0.kind == .log }
    var isGone: [ZoneNumber: Bool] = [:]
    // Of a zone that is gone the rows are taken away in any order.
    func isGoneZone(_ zone: ZoneNumber) throws -> Bool {
      if let known = isGone[zone] { return known }
      let gone = try source.readView.zoneRowIfThere(zone)?.status.isGone ?? true
      isGone[zone] = gone
      return gone
    }
    var cursor = try source.transaction.openCursor(source.tables.assets)
    var isThere = try cursor.first()
    while isThere {
      let (key, row) = cursor.withEntry { ($0.bytes, $1.bytes) }
      isThere = try cursor.next()
      let bytes = key.span.bytes
      switch key[0] {
      case 0:
        let asset = try AssetReference(key: bytes, at: 1)
        let zone = ZoneNumber(rawValue: try bytes.bigEndian32(at: 41))
        named.insert(asset)
        if try isGoneZone(zone) { continue }
        let expected = left.removeValue(forKey: AssetName(asset: asset, zone: zone)) ?? 0
        let count = try Self.count(row)
        if isLogRead, !isFoldingAgain, count != expected {
          report.add(
            .assetList, "\(asset.hash)",
            "\(expected) transactions of zone number \(zone.rawValue) name it, and the count is "
              + "\(count.map { "\($0)" } ?? "unreadable")")
        }
      case 1, 2, 5:
        let zone = ZoneNumber(rawValue: try bytes.bigEndian32(at: 1))
        let name = AssetName(asset: try AssetReference(key: bytes, at: 5), zone: zone)
        if try isGoneZone(zone) { continue }
        switch key[0] {
        case 1: listed.insert(name)
        case 2: wanted.insert(name)
        default: unsent.insert(name)
        }
      default: continue
      }
    }
    guard isLogRead, !isFoldingAgain else { return }
    for name in left.keys.sorted() where try !isGoneZone(name.zone) {
      report.add(
        .assetList, "\(name.asset.hash)", "zone number \(name.zone.rawValue) names it, and has no row of it")
    }
    for name in assetNames.keys.sorted() where try !isGoneZone(name.zone) && !listed.contains(name) {
      report.add(
        .assetList, "\(name.asset.hash)", "it is not in the list of zone number \(name.zone.rawValue)")
    }
    for name in listed.union(wanted).union(unsent).sorted() where assetNames[name] == nil {
      report.add(
        .assetList, "\(name.asset.hash)", "zone number \(name.zone.rawValue) lists it, and does not name it")
    }
  }

  private static func count(_ row: [UInt8]) throws -> UInt64? {
    do {
      return try AssetRow.count(row.span.bytes)
    } catch {
      return nil
    }
  }

  private mutating func checkFiles(
    _ named: [AssetReference], _ wanted: Set<AssetName>, _ files: AssetFiles,
    _ progress: (VerificationProgress) throws -> Void
  ) throws {
    let absent = Set(wanted.map(\.asset))
    let (total, overflow) = named.reduce((UInt64(0), false)) { sum, asset in
      let (next, isOver) = sum.0.addingReportingOverflow(asset.byteCount)
      return (next, sum.1 || isOver)
    }
    var done: UInt64 = 0
    for asset in named {
      let path = files.path(of: asset.hash)
      do {
        let file = try files.calls.openFile(path)
        let size = try files.calls.status(of: file, path).byteCount
        guard size == asset.byteCount else {
          // A reference with another size was never right: the file is not damaged.
          if absent.contains(asset) {
            report.missingAssets += 1
            continue
          }
          report.add(.asset, "\(asset.hash)", "its file has \(size) bytes, not \(asset.byteCount)")
          continue
        }
        report.assets += 1
        let found = try files.hash(file, path) { count in
          done &+= UInt64(count)
          try progress(VerificationProgress(step: .assets, done: done, total: overflow ? .max : total))
        }
        if found != asset { report.add(.asset, "\(asset.hash)", "its file has other bytes") }
      } catch {
        guard let error = error as? FileError else { throw error }
        guard error.isNoSuchFile else {
          report.add(.asset, "\(asset.hash)", "its file cannot be read: \(error.storeError.message)")
          continue
        }
        if absent.contains(asset) {
          report.missingAssets += 1
        } else {
          report.add(.asset, "\(asset.hash)", "its file is gone")
        }
      }
    }
  }

  private mutating func countUnnamed(_ source: borrowing ReadTransaction, _ files: AssetFiles) throws {
    for folder in try files.calls.names(in: files.root) ?? [] where folder.utf8.count == 2 {
      for name in try files.calls.names(in: "\(files.root)/\(folder)") ?? [] {
        guard let hash = ContentHash(name), name.hasPrefix(folder) else { continue }
        if try !source.readView.assets.isNamed(hash) { report.unnamedAssets += 1 }
      }
    }
  }
}
