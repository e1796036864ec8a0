import EventStore
import OperationFormat

extension HistoryRun {
  /// Compares every device with the final tree and with the first device.
  func compare(with tree: HistoryTree, _ progress: (HistoryProgress) throws -> Void) throws {
    let files = tree.files
    report.files = files.count
    guard let first = devices.first else { return }
    let expected = try DeviceState(first.store)
    report.digests = zip(expected.zones, expected.digests).map { (zone: $0, digest: $1) }
    for (index, device) in devices.enumerated() {
      try progress(HistoryProgress(stage: .comparing, done: index, total: devices.count))
      let difference = try Self.difference(of: device, files) ?? Self.difference(of: device, first, expected)
      report.difference = report.difference ?? difference
    }
    try findConflicts(on: first)
  }

  /// The first record, in order, in which a device differs from the tree.
  private static func difference(
    of device: HistoryDevice, _ files: [(record: HistoryRecord, content: HistoryContent)]
  ) throws -> HistoryDifference? {
    var rest = files[...]
    var difference: HistoryDifference?
    try device.store.read { transaction in
      for zone in try transaction.zones() where difference == nil {
        try transaction.forEachRecord(in: zone) { record in
          difference = Self.difference(at: record, on: device.name, &rest)
          return difference == nil
        }
      }
    }
    if difference == nil, let (record, content) = rest.first {
      difference = HistoryDifference(
        device: device.name, place: "\(record.id)", expected: text(content), found: "no such record")
    }
    return difference
  }

  /// Compares a device's next record with the tree's next file.
  private static func difference(
    at record: Record, on device: String,
    _ rest: inout ArraySlice<(record: HistoryRecord, content: HistoryContent)>
  ) -> HistoryDifference? {
    guard let (file, content) = rest.first, !record.id.precedes(file.id) else {
      return HistoryDifference(
        device: device, place: "\(record.id)", expected: "no such record", found: text(record))
    }
    guard record.id == file.id else {
      return HistoryDifference(
        device: device, place: "\(file.id)", expected: text(content), found: "no such record")
    }
    rest.removeFirst()
    let isEqual =
      record.type == HistoryRecord.type && record[HistoryRecord.path] == file.path
      && record[HistoryRecord.blob] == .string(content.blob)
      && record[HistoryRecord.size] == content.size.map { .int($0) }
      && (content.mode == nil || record[HistoryRecord.mode] == content.mode.map { .string($0) })
    return isEqual
      ? nil
      : HistoryDifference(device: device, place: "\(file.id)", expected: text(content), found: text(record))
  }

  private static func text(_ content: HistoryContent) -> String {
    let size = content.size.map { ", \($0) bytes" } ?? ""
    return "blob \(content.blob)\(size)\(content.mode.map { ", mode \($0)" } ?? "")"
  }

  private static func text(_ record: Record) -> String {
    let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return fields.isEmpty ? "a record without fields" : fields.joined(separator: ", ")
  }

  private static func difference(
    of device: HistoryDevice, _ first: HistoryDevice, _ expected: DeviceState
  ) throws -> HistoryDifference? {
    let found = try DeviceState(device.store)
    for zone in Set(expected.zones).union(found.zones).sorted()
    where expected.digest(of: zone) != found.digest(of: zone) {
      return HistoryDifference(
        device: device.name, place: "zone \(zone)",
        expected: "digest \(expected.digest(of: zone)) as on \(first.name)",
        found: "\(found.digest(of: zone))")
    }
    return nil
  }

  // MARK: Conflicts

  /// Counts the cells that have losers, and finds the record that has the most.
  private func findConflicts(on device: HistoryDevice) throws {
    var most: (heads: Int, writes: Int, record: RecordID)?
    var heads: (count: Int, record: RecordID)?
    func offer(_ count: Int, _ record: RecordID) {
      let found = (heads: count, writes: writes[record] ?? 0, record: record)
      if let most, (most.heads, most.writes) >= (found.heads, found.writes) { return }
      most = found
    }
    try device.store.read { transaction in
      for zone in try transaction.zones() {
        try transaction.forEachConflict(in: zone) { conflict in
          report.conflicts += 1
          if heads?.record != conflict.record {
            if let heads { offer(heads.count, heads.record) }
            heads = (0, conflict.record)
          }
          heads?.count += 1 + conflict.losers.count
          return true
        }
      }
    }
    if let heads { offer(heads.count, heads.record) }
    // Without conflicts it is the record with the most writes, or the first of several.
    if most == nil {
      for (record, count) in writes.sorted(by: { $0.key.precedes($1.key) }) where count > most?.writes ?? 0 {
        most = (0, count, record)
      }
    }
    report.mostContested = most?.record
  }
}
