import EventStore
import OperationFormat

extension ScenarioWorld {
  /// Checks an assertion on devices.
  ///
  /// - Throws: ``ScenarioMismatch``; an error of the store.
  func check(_ assertion: ScenarioAssertion, on devices: [ScenarioDevice]) throws {
    if case .converged = assertion { return try checkConverged(devices) }
    for device in devices { try check(assertion, on: device) }
  }

  private func check(_ assertion: ScenarioAssertion, on device: ScenarioDevice) throws {
    switch assertion {
    case .converged: break
    case .exists(let record):
      let found = try self.record(record, on: device)
      try expect(found != nil, "\(record.name) to be on \(device.name)", "no such record")
    case .absent(let record):
      let found = try self.record(record, on: device)
      try expect(found == nil, "no \(record.name) on \(device.name)", "a record")
    case .field(let record, let field, let values):
      let found = try self.record(record, on: device)?[field] ?? .null
      // A counter that nothing was added to reads 0.
      let readsZero = try found == .null && !isSet(field, of: record, on: device)
      try expect(
        values.contains { $0.isSame(as: found) || (readsZero && $0.isSame(as: .int(0))) },
        "\(values.map(\.description).joined(separator: " or ")) in \(record.name).\(field) on \(device.name)",
        "\(found)")
    case .set(let record, let field, let values, let isWhole):
      let found = try elements(of: field, in: record, on: device)
      let missing = values.filter { value in !found.contains { $0.isSame(as: value) } }
      let extra = isWhole ? found.filter { value in !values.contains { $0.isSame(as: value) } } : []
      try expect(
        missing.isEmpty && extra.isEmpty, "\(values) in \(record.name).\(field) on \(device.name)", "\(found)"
      )
    case .list(let record, let field, let test):
      let found =
        try value(of: field, in: record, on: device) { try $0.list($1, of: $2).map { .array($0) } }
        ?? .array([])
      guard case .array(let values) = found else { return }
      try expect(test.holds(for: values), "\(test) in \(record.name).\(field) on \(device.name)", "\(found)")
    case .text(let record, let field, let texts):
      let found =
        try value(of: field, in: record, on: device) { try $0.text(of: $1, in: $2).map { .string($0) } }
        ?? .string("")
      try expect(
        texts.contains { .string($0) == found },
        "\(texts.joined(separator: " or ")) in \(record.name).\(field) on \(device.name)", "\(found)")
    case .setExcludes(let record, let field, let values):
      let found = try elements(of: field, in: record, on: device)
      try expect(
        !values.contains { value in found.contains { $0.isSame(as: value) } },
        "none of \(values) in \(record.name).\(field) on \(device.name)", "\(found)")
    case .parent(let record, let parent):
      let found = try self.record(record, on: device)?[ScenarioRecord.parentField].flatMap(Self.target)
      try expect(
        found == parent,
        "\(parent.map { "\($0)" } ?? "no record") as parent of \(record.name) on \(device.name)",
        found.map { "\($0)" } ?? "none")
    case .noDanglingParent:
      let dangling = try danglingParent(on: device)
      try expect(dangling == nil, "no dangling parent on \(device.name)", dangling ?? "")
    case .count(let count, let zone):
      let found = try self.count(of: ZoneID(name: zone), on: device)
      try expect(found == count, "\(count) records in \(zone) on \(device.name)", "\(found)")
    case .survivor(let record, let zones):
      let id = id(of: record)
      let found = try device.store.read { transaction in
        try transaction.survivingSources(in: id.zone).first { $0.record == id }?.copies ?? []
      }
      let expected = zones.map { RecordID(zone: ZoneID(name: $0), name: record.name) }
      try expect(
        found.sorted() == expected.sorted(), "\(id) beside its copies \(expected) on \(device.name)",
        "\(found)")
    case .pending(let counts):
      let found = try device.store.syncState().zones.reduce(0) { $0 + Int($1.pending) }
      let least = counts.upperBound == .max && counts.lowerBound < .max ? "at least " : ""
      try expect(
        counts.contains(found), "\(least)\(counts.lowerBound) pending on \(device.name)", "\(found)")
    case .lastPushCount(let count):
      try expect(
        device.lastPush == count, "\(count) transactions in the last push of \(device.name)",
        "\(device.lastPush)")
    case .lastPullCount(let count):
      try expect(
        device.lastPull == count, "\(count) transactions in the last pull of \(device.name)",
        "\(device.lastPull)")
    }
  }

  private static func target(of value: Value) -> Name? {
    guard case .reference(let reference) = value else { return nil }
    return reference.record
  }

  /// A record that shows a reference to one that is not there, in words; nil if there is none.
  private func danglingParent(on device: ScenarioDevice) throws -> String? {
    try device.store.read { transaction in
      for zone in try transaction.zones() {
        for record in try transaction.records(in: zone) {
          guard case .reference(let reference)? = record[ScenarioRecord.parentField] else { continue }
          let target = reference.target(from: zone)
          if try !transaction.contains(target) { return "\(record.id) refers to \(target)" }
        }
      }
      return nil
    }
  }

  private func expect(
    _ holds: Bool, _ expected: @autoclosure () -> String, _ found: @autoclosure () -> String
  ) throws {
    guard !holds else { return }
    throw ScenarioMismatch(expected: expected(), found: found())
  }

  private func record(_ record: ScenarioRecord, on device: ScenarioDevice) throws -> Record? {
    let id = id(of: record)
    return try device.store.read { transaction in
      guard try transaction.zones().contains(id.zone) else { return nil }
      return try transaction.record(id)
    }
  }

  /// The elements of a set, in the order of their texts.
  private func elements(
    of field: Name, in record: ScenarioRecord, on device: ScenarioDevice
  ) throws -> [Value] {
    let id = id(of: record)
    let elements = try device.store.read { transaction in
      try transaction.zones().contains(id.zone) ? transaction.elements(of: field, in: id) : nil
    }
    return (elements ?? []).sorted { "\($0)" < "\($1)" }
  }

  /// What a field reads by a verb; nil where its zone does not exist.
  private func value(
    of field: Name, in record: ScenarioRecord, on device: ScenarioDevice,
    _ read: (borrowing ReadTransaction, Name, RecordID) throws -> Value?
  ) throws -> Value? {
    let id = id(of: record)
    return try device.store.read { transaction in
      guard try transaction.zones().contains(id.zone) else { return nil }
      return try read(transaction, field, id)
    }
  }

  /// Whether a field was ever set, so that it is no counter.
  private func isSet(
    _ field: Name, of record: ScenarioRecord, on device: ScenarioDevice
  ) throws -> Bool {
    let id = id(of: record)
    return try device.store.read { transaction in
      guard try transaction.zones().contains(id.zone) else { return false }
      return try !transaction.heads(of: field, in: id).isEmpty
    }
  }

  private func count(of zone: ZoneID, on device: ScenarioDevice) throws -> Int {
    try device.store.read { transaction in
      guard try transaction.zones().contains(zone) else { return 0 }
      var count = 0
      try transaction.forEachRecord(in: zone) { _ in
        count += 1
        return true
      }
      return count
    }
  }

  // MARK: Digests

  private func checkConverged(_ devices: [ScenarioDevice]) throws {
    guard let first = devices.first else { return }
    let expected = try DeviceState(first.store)
    for device in devices.dropFirst() {
      let found = try DeviceState(device.store)
      for zone in Set(expected.zones).union(found.zones).sorted() {
        let (a, b) = (expected.digest(of: zone), found.digest(of: zone))
        try expect(
          a == b, "zone \(zone) of \(device.name) as on \(first.name) (\(Self.short(a)))",
          "another state (\(Self.short(b)))")
      }
    }
  }

  private static func short(_ digest: ContentHash) -> String { String(digest.description.prefix(8)) }

  /// The digests of all zones on all devices.
  func finalDigests() throws -> [ScenarioResult.Device] {
    try devices.map { device in
      let state = try DeviceState(device.store)
      return ScenarioResult.Device(
        name: device.name, digests: zip(state.zones, state.digests).map { (zone: $0, digest: $1) })
    }
  }
}

extension ScenarioListTest {
  fileprivate func holds(for values: [Value]) -> Bool {
    switch self {
    case .oneOf(let lists): return lists.contains { Value.array($0).isSame(as: .array(values)) }
    case .permutation(let wanted):
      var rest = values
      for value in wanted {
        guard let index = rest.firstIndex(where: { $0.isSame(as: value) }) else { return false }
        rest.remove(at: index)
      }
      return rest.isEmpty
    case .hasSubsequence(let wanted):
      var rest = values[...]
      for value in wanted {
        guard let index = rest.firstIndex(where: { $0.isSame(as: value) }) else { return false }
        rest = rest[(index + 1)...]
      }
      return true
    }
  }
}
