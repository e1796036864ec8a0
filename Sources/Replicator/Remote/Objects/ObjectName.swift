internal import OperationFormat

/// The name of an object in a remote: components of lower-case letters, digits, dots and dashes, made only
/// here. So a name means the same to every file system and object store, however it treats case, Unicode and
/// paths, and text that was read from a remote never becomes a part of one.
///
/// | name | the object |
/// |---|---|
/// | `remote` | the ``RemoteMarker`` |
/// | `hint` | the ``HintObject``: the only one that is overwritten, but for entries that ``RemoteUpgrade`` writes again |
/// | `zones/<directory>/<offset>` | an event of the list of zones |
/// | `zones/amendments/<offset>` | the amendment of an event that cannot be read |
/// | `logs/<incarnation>/<directory>/<offset>` | a segment of a zone's log, or the seal that closes it |
/// | `logs/<incarnation>/amendments/<offset>` | the amendment of an entry that cannot be read |
/// | `logs/<incarnation>/assets-<ab>/<hash>/<index>` | a chunk of an asset of the zone |
/// | `logs/<incarnation>/assets-<ab>/<hash>/manifest` | the ``AssetManifest``: the asset is whole |
/// | `logs/<incarnation>/snapshots-<offset>/<maker>/<index>` | a part of a snapshot of the zone at an offset |
/// | `logs/<incarnation>/snapshots-<offset>/<maker>/manifest` | the `SnapshotManifest`: the snapshot is whole |
/// | `logs/<incarnation>/snapshots/floors/<number>` | says where the log begins: ``LogFloors`` |
/// | `logs/<incarnation>/snapshots/names/<number>` | names a snapshot that is whole: ``ObjectSnapshots`` |
///
/// A maker is a replica: 32 hexadecimal digits. An asset's hash is 64 hexadecimal digits, `ab` the first two of them, and a chunk's index 8. An offset is
/// 16 hexadecimal digits; its directory is the first 13 of them, so that 4,096 are in one directory.
package struct ObjectName: Hashable, Sendable, CustomStringConvertible {
  /// The digits of an offset, and those of its directory.
  private static let (offsetDigits, directoryDigits) = (16, 13)
  /// The most entries in one directory.
  static let entriesInDirectory = UInt64(1) << (4 * (offsetDigits - directoryDigits))
  /// The digits of a chunk's index.
  private static let chunkDigits = 8

  /// The directory of a log's amendments.
  private static let amendments = "amendments"

  /// The prefix of the directories of a log's assets.
  package static let assetsPrefix = "assets-"

  /// The prefix of the directories of a log's snapshots.
  package static let snapshotsPrefix = "snapshots"

  /// At least one, none of them empty.
  package let components: [String]

  private init(_ components: [String]) { self.components = components }

  /// The components with slashes between them.
  package var description: String { components.joined(separator: "/") }

  /// The last component.
  var last: String { components[components.count - 1] }

  /// The marker: it says which remote it is.
  package static let marker = ObjectName(["remote"])

  /// What writers say about the ends of logs.
  package static let hint = ObjectName(["hint"])

  /// The directory of the list of zones.
  package static let zones = ObjectName(["zones"])

  /// The directory of the zones' logs.
  static let logs = ObjectName(["logs"])

  /// The event of the list of zones at an offset.
  static func zoneEvent(_ offset: UInt64) -> ObjectName {
    ObjectName(zones.components + place(of: offset))
  }

  /// The entry of a zone's log at an offset.
  package static func entry(of incarnation: IncarnationID, _ offset: UInt64) -> ObjectName {
    ObjectName(log(of: incarnation).components + place(of: offset))
  }

  /// The entry at an offset of a zone's log, or of the list of zones for nil.
  package static func entry(_ offset: UInt64, of incarnation: IncarnationID?) -> ObjectName {
    incarnation.map { entry(of: $0, offset) } ?? zoneEvent(offset)
  }

  /// The amendment of an entry of a zone's log; of an event of the list of zones if `incarnation` is nil.
  static func amendment(of incarnation: IncarnationID?, _ offset: UInt64) -> ObjectName {
    let log = incarnation.map { Self.log(of: $0) } ?? zones
    return ObjectName(log.components + [amendments, place(of: offset)[1]])
  }

  /// A chunk of an asset of a zone.
  static func assetChunk(
    _ index: UInt64, of asset: ContentHash, in incarnation: IncarnationID
  ) -> ObjectName {
    ObjectName(assetFolder(asset, incarnation) + [chunk(index)])
  }

  /// The manifest of an asset of a zone: the asset is whole.
  static func assetManifest(
    of asset: ContentHash, in incarnation: IncarnationID
  ) -> ObjectName {
    ObjectName(assetFolder(asset, incarnation) + ["manifest"])
  }

  /// A part of a snapshot of a zone.
  package static func snapshotPart(_ index: Int, of snapshot: RemoteSnapshot) -> ObjectName {
    ObjectName(snapshotFolder(snapshot) + [chunk(UInt64(index))])
  }

  /// The manifest of a snapshot of a zone: the snapshot is whole.
  package static func snapshotManifest(of snapshot: RemoteSnapshot) -> ObjectName {
    ObjectName(snapshotFolder(snapshot) + ["manifest"])
  }

  /// The name of the snapshot of a zone that was finished as one of a number, from 1.
  package static func snapshotName(_ number: UInt64, of incarnation: IncarnationID) -> ObjectName {
    ObjectName(log(of: incarnation).components + [snapshotsPrefix, "names", place(of: number)[1]])
  }

  /// The floor of a zone's log that was written as one of a number, from 1.
  package static func floor(_ number: UInt64, of incarnation: IncarnationID) -> ObjectName {
    ObjectName(log(of: incarnation).components + [snapshotsPrefix, "floors", place(of: number)[1]])
  }

  /// The file of a chunk of an asset, or a part of a snapshot.
  private static func chunk(_ index: UInt64) -> String {
    let digits = String(index, radix: 16)
    return String(repeating: "0", count: max(0, chunkDigits - digits.utf8.count)) + digits
  }

  private static func snapshotFolder(_ snapshot: RemoteSnapshot) -> [String] {
    log(of: snapshot.incarnation).components + [
      "\(snapshotsPrefix)-\(place(of: snapshot.offset)[1])", snapshot.maker.description,
    ]
  }

  private static func assetFolder(_ asset: ContentHash, _ incarnation: IncarnationID) -> [String] {
    let digits = asset.description
    return log(of: incarnation).components + ["\(assetsPrefix)\(digits.prefix(2))", digits]
  }

  /// Whether a directory of a log, or of the list of zones, has entries.
  static func isDirectoryOfEntries(_ name: String) -> Bool {
    name.utf8.count == directoryDigits && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }

  /// The last offset in an offset's directory.
  static func lastOffset(besides offset: UInt64) -> UInt64 {
    offset | (entriesInDirectory - 1)
  }

  /// The directory of a zone's log.
  package static func log(of incarnation: IncarnationID) -> ObjectName {
    ObjectName(logs.components + [incarnation.description])
  }

  /// Parses a path below a remote's place; nil unless one of the functions above gives it for an object.
  package init?(path: String) {
    let components = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    self.init(components)
    switch (components.first, components.count) {
    case ("remote", 1), ("hint", 1): return
    case ("zones", 3):
      if let amendedOffset, Self.amendment(of: nil, amendedOffset) == self { return }
      guard let offset, Self.zoneEvent(offset) == self else { return nil }
    case ("logs", 4):
      guard let incarnation else { return nil }
      if let amendedOffset, Self.amendment(of: incarnation, amendedOffset) == self { return }
      guard let offset, Self.entry(of: incarnation, offset) == self else { return nil }
    case ("logs", 5):
      guard let incarnation, isOfAsset(components, in: incarnation) || isOfSnapshot else { return nil }
    default: return nil
    }
  }

  /// Whether a path below a remote's place is a directory of objects beside a log: of an asset, of a snapshot, or of the
  /// names of snapshots.
  static func isFolderBesideLog(_ path: String) -> Bool {
    let names = ["manifest", place(of: 1)[1]]
    return names.contains { ObjectName(path: "\(path)/\($0)")?.isBesideLog ?? false }
  }

  /// Whether the components name a part of an asset.
  private func isOfAsset(_ components: [String], in incarnation: IncarnationID) -> Bool {
    guard let asset = ContentHash(components[3]) else { return false }
    if Self.assetManifest(of: asset, in: incarnation) == self { return true }
    guard last.utf8.count == Self.chunkDigits, let index = UInt64(last, radix: 16) else { return false }
    return Self.assetChunk(index, of: asset, in: incarnation) == self
  }

  /// Whether it is a part of a snapshot, names one, or says where the log begins.
  package var isOfSnapshot: Bool {
    guard components.count == 5, components[2] == Self.snapshotsPrefix else { return snapshot != nil }
    guard let incarnation, let number = UInt64(last, radix: 16), number > 0 else { return false }
    return self == .snapshotName(number, of: incarnation) || self == .floor(number, of: incarnation)
  }

  /// The snapshot that it is a part of, or the manifest of; its zone has no name.
  package var snapshot: RemoteSnapshot? {
    let prefix = "\(Self.snapshotsPrefix)-"
    guard components.count == 5, let incarnation, components[2].hasPrefix(prefix),
      let maker = ReplicaID(components[3]),
      let offset = UInt64(components[2].dropFirst(prefix.utf8.count), radix: 16), offset > 0
    else { return nil }
    let snapshot = RemoteSnapshot(of: ZoneID(name: ""), incarnation, at: offset, by: maker)
    if self == .snapshotManifest(of: snapshot) { return snapshot }
    guard last.utf8.count == Self.chunkDigits, let index = Int(last, radix: 16), index >= 0,
      self == .snapshotPart(index, of: snapshot)
    else { return nil }
    return snapshot
  }

  /// Whether it is beside a log: a part of an asset or of a snapshot.
  package var isBesideLog: Bool { isOfAsset || isOfSnapshot }

  /// Whether it goes with a deleted zone. Where the log begins is still to be known: it may be opened again.
  package var goesWithZone: Bool { isBesideLog && !isFloor }

  private var isFloor: Bool {
    guard components.count == 5, let incarnation, let number = UInt64(last, radix: 16) else { return false }
    return number > 0 && self == .floor(number, of: incarnation)
  }

  /// The asset that it is a part of.
  var asset: ContentHash? {
    guard components.count == 5, components[0] == "logs", let incarnation,
      isOfAsset(components, in: incarnation)
    else { return nil }
    return ContentHash(components[3])
  }

  /// Whether it is a part of an asset.
  package var isOfAsset: Bool { asset != nil }

  /// The incarnation whose log it is in.
  package var incarnation: IncarnationID? {
    components.count > 1 && components[0] == "logs" ? IncarnationID(components[1]) : nil
  }

  /// The offset of the entry; nil if it names none.
  package var offset: UInt64? { isAmendment || components.count == 5 ? nil : namedOffset }

  /// The offset of the entry that it amends; nil if it is no amendment.
  var amendedOffset: UInt64? { isAmendment ? namedOffset : nil }

  private var isAmendment: Bool {
    components.count > 2 && components[components.count - 2] == Self.amendments
  }

  private var namedOffset: UInt64? {
    guard components.count > 2, last.utf8.count == Self.offsetDigits,
      let offset = UInt64(last, radix: 16), offset > 0, Self.place(of: offset)[1] == last
    else { return nil }
    return offset
  }

  private static func place(of offset: UInt64) -> [String] {
    precondition(offset > 0, "offsets begin at 1")
    let digits = String(offset, radix: 16)
    let file = String(repeating: "0", count: offsetDigits - digits.utf8.count) + digits
    return [String(file.prefix(directoryDigits)), file]
  }
}
