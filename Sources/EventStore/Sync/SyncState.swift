package import OperationFormat

/// How far a store is in step with its remote, zone by zone: what a round of replication begins from.
package struct StoreSyncState: Hashable, Sendable {
  package var identity: StoreIdentity
  /// Up to where the remote's list of zones was read; nil for a store that was never synced.
  package var databaseToken: DatabaseToken?
  /// In the order of their identities.
  package var zones: [ZoneSyncState]
  /// Whether there are also deleted zones whose space is not reclaimed yet.
  package var hasRemovedZones = false

  init(identity: StoreIdentity, databaseToken: DatabaseToken?, zones: [ZoneSyncState]) {
    self.identity = identity
    self.databaseToken = databaseToken
    self.zones = zones
  }
}

/// One zone's part in it.
package struct ZoneSyncState: Hashable, Sendable {
  package var zone: ZoneID
  package var attachment: ZoneAttachment
  /// Up to where the zone's remote log was folded; nil before the remote has it, as far as the store knows.
  package var token: ChangeToken?
  /// Own transactions that no remote has acknowledged.
  package var pending: UInt64
  /// When its assets are downloaded.
  package var assetPolicy: AssetPolicy
  /// Whether segments were shipped without assets that they name, and that the remote was not given since.
  package var hasUnsentAssets = false
  /// Whether its log is being read again.
  package var isRereading = false
  /// Whether its log is made again at a remote that does not have it, or has closed it.
  package var restoresLog = false
  /// How many bytes of transactions of its log a new snapshot would stand for, about; and how many the last one has that is
  /// known.
  package var snapshotDueBytes: UInt64 = 0
  package var snapshotBytes: UInt64 = 0
  /// The offset behind which the remote needs a snapshot, whatever its size: stores that have retired what this one has sent
  /// again, after the log had lost it, can begin with nothing else. Nil if it needs none.
  package var snapshotNeededBehind: UInt64?
  /// Whether the snapshot that it begins with is not whole here, and no remote was asked for it since that was found.
  package var hasBrokenOrigin = false

  init(
    zone: ZoneID, attachment: ZoneAttachment, token: ChangeToken?, pending: UInt64,
    assetPolicy: AssetPolicy = .lazy
  ) {
    self.zone = zone
    self.attachment = attachment
    self.token = token
    self.pending = pending
    self.assetPolicy = assetPolicy
  }
}

/// The next segment to ship of a zone: which transactions, and its header.
package struct SegmentCut: Hashable, Sendable {
  /// Before it is stored: unpacked, without a codec.
  package var header: SegmentHeader
  /// Whether the header was stored by an earlier try, which may have reached the remote.
  package var isStored: Bool
  /// The canonical bytes of its transactions.
  package var transactions: [[UInt8]]
  /// When they were received, in milliseconds since 1970, by a former entry that the log has lost, or that was given up;
  /// nil if none says so.
  package var formerReceivedMilliseconds: UInt64?

  package init(
    header: SegmentHeader, isStored: Bool, transactions: [[UInt8]], formerReceivedMilliseconds: UInt64? = nil
  ) {
    self.header = header
    self.isStored = isStored
    self.transactions = transactions
    self.formerReceivedMilliseconds = formerReceivedMilliseconds
  }
}

extension SegmentCut {
  /// The assets that its transactions name, each once.
  package func assets() throws -> [AssetReference] { try Self.assets(namedBy: transactions) }

  /// The assets that transactions of a segment name, each once.
  package static func assets(namedBy transactions: [[UInt8]]) throws -> [AssetReference] {
    var found: [AssetReference] = []
    var decoder = BodyDecoder()
    for bytes in transactions {
      var reader = ByteReader(bytes.span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      let body = bytes.span.bytes.extracting(reader.position...)
      try decoder.parse(body)
      try decoder.operations.appendAssets(in: body, to: &found)
    }
    var seen: Set<AssetReference> = []
    return found.filter { seen.insert($0).inserted }
  }

  /// The floors that transactions of a segment name, with their sequences.
  package static func floors(namedBy transactions: [[UInt8]]) throws -> [(sequence: UInt64, floor: UInt64)] {
    var found: [(UInt64, UInt64)] = []
    var decoder = BodyDecoder()
    for bytes in transactions {
      var reader = ByteReader(bytes.span.bytes)
      let sequence = try TransactionHeader.read(from: &reader).sequence
      try decoder.parse(bytes.span.bytes.extracting(reader.position...))
      if let floor = decoder.floor { found.append((sequence, floor)) }
    }
    return found
  }
}
