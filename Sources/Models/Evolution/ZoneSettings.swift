import OperationFormat

/// What the devices of an app agree on in a zone: an ordinary record of it, which is synced as others are.
///
/// | field | kind | what |
/// |---|---|---|
/// | `schemas` | set | versions of the schema that writes were made to require: the greatest counts |
/// | `migrated` | set | versions to which the zone was migrated |
/// | `claims N` | contributions | devices that want to migrate the zone to version N: each a time, in milliseconds since 1970 |
/// | `progress N` | register | how far that is: the number of the step, the last record that is done, and the last that there was |
struct ZoneSettings {
  static let type: Name = "tributary.settings"
  static let schemas: Name = "schemas"
  static let migrated: Name = "migrated"

  let record: RecordID

  init(of zone: ZoneID) { record = RecordID(zone: zone, name: Self.type) }

  static func claims(of version: UInt64) -> Name { Name("claims \(version)") }
  static func progress(of version: UInt64) -> Name { Name("progress \(version)") }
  static func value(_ version: UInt64) -> Value { .int(Int64(clamping: version)) }
}

/// How far a migration of a zone is.
struct MigrationProgress {
  var step = 0
  /// The last record of the step that was migrated; nil if it is not begun.
  var last: Name?
  /// The last record that was there when the step began.
  var end: Name?

  var value: Value {
    .array([.int(Int64(step))] + [last, end].map { $0.map { .string($0.rawValue) } ?? .null })
  }

  init(step: Int = 0) { self.step = step }

  init(_ value: Value?) {
    guard case .array(let parts)? = value, parts.count == 3, case .int(let step) = parts[0], step >= 0 else {
      return
    }
    self.step = Int(step)
    if case .string(let name) = parts[1] { last = Name(name) }
    if case .string(let name) = parts[2] { end = Name(name) }
  }
}

extension RecordReading where Self: ~Copyable {
  /// The least version of an app's schema that may write to a zone; 0 if any may.
  ///
  /// - Throws: `StoreError` `damaged`.
  public func minimumSchema(of zone: ZoneID) throws -> UInt64 {
    try versions(ZoneSettings.schemas, of: zone).max() ?? 0
  }

  /// Whether a zone was migrated to a version, or a later one.
  func isMigrated(_ zone: ZoneID, to version: UInt64) throws -> Bool {
    try versions(ZoneSettings.migrated, of: zone).contains { $0 >= version }
  }

  func versions(_ field: Name, of zone: ZoneID) throws -> [UInt64] {
    let found = try emptyIfThereIsNoZone { try elements(of: field, in: ZoneSettings(of: zone).record) } ?? []
    return found.compactMap { if case .int(let version) = $0 { UInt64(exactly: version) } else { nil } }
  }
}

extension WriteTransaction {
  /// From now on only apps of a version of the schema, or a newer one, write to the zone: to an older one it
  /// is read-only, once it has synced.
  ///
  /// What an older one has written before it learned of that counts: it is synced and merged.
  ///
  /// - Throws: `StoreError` `zoneUnknown`; `schemaTooOld` if the write itself has an older one.
  public mutating func requireSchema(_ version: UInt64, in zone: ZoneID) throws {
    try insert(ZoneSettings.value(version), into: ZoneSettings.schemas, ofSettings: ZoneSettings(of: zone))
  }

  mutating func insert(_ value: Value, into field: Name, ofSettings settings: ZoneSettings) throws {
    try makeRecord(of: settings)
    try insert(value, into: field, of: settings.record)
  }

  mutating func makeRecord(of settings: ZoneSettings) throws {
    if try !contains(settings.record) { try create(settings.record, type: ZoneSettings.type) }
  }

  /// - Throws: `StoreError` `schemaTooOld`.
  func checkSchema() throws {
    let version = schemaVersion ?? 0
    for zone in changedZones {
      let least = try minimumSchema(of: zone)
      if version >= least { continue }
      throw StoreError(
        .schemaTooOld,
        "the zone “\(zone)” takes writes of schema \(least) or newer; this app writes "
          + (schemaVersion.map { "schema \($0)" } ?? "without a schema"),
        hint: "update the app; it can still read the zone, and what it wrote before is synced")
    }
  }
}
