import LMDB
import OperationFormat

// The table `assets`. An asset is its reference: hash (32) and byte count (8). Two references with one hash
// are two assets, since one of them is wrong, and must not stand in the way of the right one.
//
// | key | value |
// |---|---|
// | 0 (1), asset (40), zone (4) | how many transactions of the zone's log name it, varint |
// | 1 (1), zone (4), asset (40) | nothing: the same, by zone |
// | 2 (1), zone (4), asset (40) | wanted, see `AssetList`: position of the last one that names it, varint |
// | 3 (1), hash (32) | until when an import is to be named, in milliseconds since 1970, varint |
// | 4 (1), zone (4) | the zone's `AssetPolicy` (1) |
// | 5 (1), zone (4), asset (40) | unsent, see `AssetList`: inode of the damaged file, or 0, varint |
// | 6 (1), zone (4), asset (40) | nothing: the snapshot that the zone begins with names it |
//
// Without a value the second and the last are 0.

/// What a zone's log names, as lists of assets.
enum AssetList: UInt8 {
  /// All of it.
  case named = 1
  /// Assets that were not here when a transaction named them, and have not come since.
  case wanted = 2
  /// Assets that the zone's remote lacks although it has what names them: they were missing or damaged here.
  case unsent = 5
  /// Those that the snapshot names which the zone begins with. They count as those of a transaction do.
  case inOrigin = 6
}

extension TableKey {
  static let assetNameByteCount = 45
  static let heldAssetByteCount = 33
  static let assetPolicyByteCount = 5

  private init(assetKind kind: UInt8) {
    self.init()
    append(kind)
  }

  private mutating func append(_ asset: AssetReference) {
    append(asset.hash.bytes.span.bytes)
    append(asset.byteCount)
  }

  /// What the rows of one asset begin with, whichever zones name it.
  static func names(of asset: AssetReference) -> TableKey {
    var key = TableKey(assetKind: 0)
    key.append(asset)
    return key
  }

  /// What the rows of one file begin with, whatever its references say of its size.
  static func names(of hash: ContentHash) -> TableKey {
    var key = TableKey(assetKind: 0)
    key.append(hash.bytes.span.bytes)
    return key
  }

  static func assetName(_ asset: AssetReference, in zone: ZoneNumber) -> TableKey {
    var key = names(of: asset)
    key.append(zone)
    return key
  }

  /// What the rows of one zone begin with.
  static func assets(of zone: ZoneNumber, _ list: AssetList) -> TableKey {
    var key = TableKey(assetKind: list.rawValue)
    key.append(zone)
    return key
  }

  static func asset(_ asset: AssetReference, of zone: ZoneNumber, _ list: AssetList) -> TableKey {
    var key = assets(of: zone, list)
    key.append(asset)
    return key
  }

  static func heldAsset(_ hash: ContentHash) -> TableKey {
    var key = TableKey(assetKind: 3)
    key.append(hash.bytes.span.bytes)
    return key
  }

  static func assetPolicy(_ zone: ZoneNumber) -> TableKey {
    var key = TableKey(assetKind: 4)
    key.append(zone)
    return key
  }

  /// Whether a key of the table `assets` has a form that one has.
  static func isOfAssets(_ key: RawSpan) -> Bool {
    guard key.byteCount > 0 else { return false }
    switch key.unsafeLoad(fromByteOffset: 0, as: UInt8.self) {
    case 0, 1, 2, 5, 6: return key.byteCount == assetNameByteCount
    case 3: return key.byteCount == heldAssetByteCount
    case 4: return key.byteCount == assetPolicyByteCount
    default: return false
    }
  }
}

/// The value of a row of assets that counts.
enum AssetRow {
  static func count(_ row: RawSpan) throws(FormatError) -> UInt64 {
    var reader = ByteReader(row)
    let count = try reader.readVarint("asset.count")
    try reader.finish("asset.count")
    return count
  }
}

extension AssetReference {
  /// Reads an asset out of a key.
  init(key: RawSpan, at offset: Int) throws(FormatError) {
    var reader = ByteReader(key, at: min(offset, key.byteCount))
    self.init(
      hash: try ContentHash.read(from: &reader, "asset"), byteCount: try reader.readBigEndian("asset"))
  }
}

/// The rows of assets: which zones' logs name them, which are missing here or at a remote, and which an
/// import holds.
struct AssetTable<Source: TableReading>: TableView {
  let source: Source
}

extension TableReading {
  @inline(__always) var assets: AssetTable<Self> { AssetTable(source: self) }
}

extension AssetTable {
  /// Whether any transaction of the log names an asset.
  func isNamed(_ asset: AssetReference) throws -> Bool {
    try hasRow(under: .names(of: asset))
  }

  /// Whether any transaction of the log names a file, whatever it says of its size.
  func isNamed(_ hash: ContentHash) throws -> Bool {
    try hasRow(under: .names(of: hash))
  }

  /// Whether a zone has anything in a list.
  func hasAny(in zone: ZoneNumber, _ list: AssetList) throws -> Bool {
    try hasRow(under: .assets(of: zone, list))
  }

  private func hasRow(under prefix: TableKey) throws -> Bool {
    try transaction.hasEntry(in: tables.assets, under: prefix.span.bytes)
  }

  /// Calls a closure with the assets of a zone's list, each with its row's number, in the order of their
  /// hashes, until it returns false.
  ///
  /// - Parameter last: the asset to begin after; nil for the start.
  func forEach(
    of zone: ZoneNumber, _ list: AssetList, after last: AssetReference? = nil,
    _ body: (AssetReference, UInt64) throws -> Bool
  ) throws {
    let prefix = TableKey.assets(of: zone, list)
    let start = last.map { TableKey.asset($0, of: zone, list) } ?? prefix
    try transaction.forEachEntry(
      in: tables.assets, under: prefix.span.bytes, from: start.span.bytes
    ) { key, row in
      let asset = try AssetReference(key: key, at: 5)
      return try asset == last || body(asset, row.isEmpty ? 0 : try AssetRow.count(row))
    }
  }

  /// The number of an asset's row in a zone's list; nil if it is not in it.
  func number(of asset: AssetReference, in zone: ZoneNumber, _ list: AssetList) throws -> UInt64? {
    let key = TableKey.asset(asset, of: zone, list)
    return try transaction.withValue(of: key.span, in: tables.assets) {
      $0.isEmpty ? 0 : try AssetRow.count($0)
    }
  }

  /// The zones whose logs name an asset, each with how many transactions do.
  func zonesNaming(_ asset: AssetReference) throws -> [(zone: ZoneNumber, count: UInt64)] {
    var zones: [(zone: ZoneNumber, count: UInt64)] = []
    let prefix = TableKey.names(of: asset).span.bytes
    try transaction.forEachEntry(in: tables.assets, under: prefix) { key, row in
      zones.append((ZoneNumber(rawValue: try key.bigEndian32(at: 41)), try AssetRow.count(row)))
      return true
    }
    return zones
  }

  /// Until when a file that was imported is to be named; nil if it need not be any more.
  func heldUntil(_ hash: ContentHash) throws -> UInt64? {
    try transaction.withValue(of: TableKey.heldAsset(hash).span, in: tables.assets) { try AssetRow.count($0) }
  }

  func policy(of zone: ZoneNumber) throws -> AssetPolicy {
    try transaction.withValue(of: TableKey.assetPolicy(zone).span, in: tables.assets) { row in
      var reader = ByteReader(row)
      let byte = try reader.readUInt8("asset.policy")
      guard let policy = AssetPolicy(rawValue: byte) else {
        throw FormatError(.unknownTag, at: 0, in: "asset.policy", expected: "0 or 1", found: "\(byte)")
      }
      return policy
    } ?? .lazy
  }
}

extension AssetTable where Source == TableStorage {
  /// Counts that the last transaction of the log, which is of a zone, names an asset.
  func countName(of asset: AssetReference, in zone: ZoneNumber, isHere: Bool) throws {
    let name = TableKey.assetName(asset, in: zone)
    let count = try transaction.withValue(of: name.span, in: tables.assets) { try AssetRow.count($0) } ?? 0
    try source.put(name, in: tables.assets) { $0.append(varint: count &+ 1) }
    let held = TableKey.heldAsset(asset.hash)
    // An asset that was not held was noted when it came: noting it again here would cost time for each zone
    // that names it.
    if isHere, try transaction.delete(held.span, in: tables.assets) { try noteArrival(of: asset) }
    if count == 0 { try source.put(.asset(asset, of: zone, .named), in: tables.assets) { _ in } }
    let isWanted = try count == 0 || number(of: asset, in: zone, .wanted) != nil
    if !isHere, isWanted { try setNumber(source.lastPosition().rawValue, of: asset, in: zone, .wanted) }
  }

  /// Takes back that one transaction of a zone's log names an asset.
  func uncountName(of asset: AssetReference, in zone: ZoneNumber) throws {
    let name = TableKey.assetName(asset, in: zone)
    let count = try transaction.withValue(of: name.span, in: tables.assets) { try AssetRow.count($0) } ?? 0
    guard count > 1 else { return try forget(asset, in: zone) }
    try source.put(name, in: tables.assets) { $0.append(varint: count - 1) }
  }

  /// Puts an asset into a zone's list, or gives its row there another number.
  func setNumber(_ number: UInt64, of asset: AssetReference, in zone: ZoneNumber, _ list: AssetList) throws {
    try source.put(.asset(asset, of: zone, list), in: tables.assets) { $0.append(varint: number) }
  }

  /// Lets all assets of a zone that have come here be sent again: its remote may not have them any more.
  func noteAllUnsent(of zone: ZoneNumber) throws {
    var found: [AssetReference] = []
    try forEach(of: zone, .named) { asset, _ in
      let isHere = try number(of: asset, in: zone, .wanted) == nil
      if try isHere && number(of: asset, in: zone, .unsent) == nil { found.append(asset) }
      return true
    }
    for asset in found { try setNumber(0, of: asset, in: zone, .unsent) }
  }

  /// Notes that an asset has come: no zone waits for it any more, and what was wrong with its file is past.
  func noteArrival(of asset: AssetReference) throws {
    source.changeNotes?.note(asset.hash)
    for (zone, _) in try zonesNaming(asset) {
      let key = TableKey.asset(asset, of: zone, .wanted)
      _ = try transaction.delete(key.span, in: tables.assets)
      if try number(of: asset, in: zone, .unsent) ?? 0 != 0 {
        try setNumber(0, of: asset, in: zone, .unsent)
      }
    }
  }

  /// Keeps a file that nothing names yet, until a time.
  func hold(_ hash: ContentHash, untilMilliseconds until: UInt64) throws {
    let known = try heldUntil(hash) ?? 0
    try source.put(.heldAsset(hash), in: tables.assets) { $0.append(varint: max(known, until)) }
  }

  func setPolicy(_ policy: AssetPolicy, of zone: ZoneNumber) throws {
    if policy == .lazy {
      let key = TableKey.assetPolicy(zone)
      _ = try transaction.delete(key.span, in: tables.assets)
    } else {
      try source.put(.assetPolicy(zone), in: tables.assets) { $0.append(policy.rawValue) }
    }
  }

  /// Removes all rows that say that a zone's log names an asset.
  func forget(_ asset: AssetReference, in zone: ZoneNumber) throws {
    for key in [
      TableKey.assetName(asset, in: zone), .asset(asset, of: zone, .named), .asset(asset, of: zone, .wanted),
      .asset(asset, of: zone, .unsent), .asset(asset, of: zone, .inOrigin),
    ] {
      _ = try transaction.delete(key.span, in: tables.assets)
    }
  }

  /// Removes rows of the assets of a zone that is gone, at most so many.
  ///
  /// - Returns: how many rows went; fewer than `rowsMax` once none is left.
  func removeAll(of zone: ZoneNumber, rowsMax: Int) throws -> Int {
    var assets: [AssetReference] = []
    try forEach(of: zone, .named) { asset, _ in
      assets.append(asset)
      return 4 * assets.count < rowsMax
    }
    for asset in assets { try forget(asset, in: zone) }
    try setPolicy(.lazy, of: zone)
    return try hasAny(in: zone, .named) ? rowsMax : 4 * assets.count
  }
}
