/// The operations of one write in one zone, as the log stores them.
///
/// ``encoded()`` returns its bytes, and ``init(decoding:)`` reads them. A transaction has exactly one encoded
/// form, so decoding and encoding again gives the same bytes.
public struct LogTransaction: Hashable, Sendable {
  /// The store that made the transaction.
  public var replica: ReplicaID
  /// Which epoch of that store's identity made it.
  public var epoch: UInt32
  /// The number of the transaction in its lane (the replica, epoch and zone), from 1.
  public var sequence: UInt64
  /// The zone that it changes. The bytes do not state the owner, which is the owner of the log that has the
  /// transaction: so they do not depend on who looks. A transaction that was only decoded has no owner.
  public var zone: ZoneID
  /// Whether the bytes state the zone's owner, as an earlier program wrote it.
  package var statesOwner = false
  /// What its maker had seen of the zone's remote log; nil for nothing.
  public var base: Base?
  /// In the first transaction of a new lane, the last transaction of the lane that it continues.
  public var parent: TransactionID?
  /// The clock's timestamp at the write.
  public var timestamp: Timestamp
  /// Shared by the transactions of one write that changed several zones; else nil.
  public var writeID: UInt64?
  /// Who made the write: at most 255 bytes of UTF-8.
  public var author: String?
  /// What the write was, in words: at most 1,024 bytes of UTF-8.
  public var label: String?
  /// The version of the schema at the write.
  public var schemaVersion: UInt64?
  /// The changes, in order: 1 to 65,536.
  public var operations: [LogOperation]
  /// The table of names as it was decoded; nil if no operation is of an unknown kind. The payloads of unknown
  /// kinds may refer to it.
  ///
  /// If it is not nil, the encoder writes it first and unchanged.
  public var names: [Name]?

  /// Creates a transaction. The encoder checks its limits.
  public init(
    replica: ReplicaID, epoch: UInt32, sequence: UInt64, zone: ZoneID, base: Base? = nil,
    parent: TransactionID? = nil, timestamp: Timestamp, writeID: UInt64? = nil, author: String? = nil,
    label: String? = nil, schemaVersion: UInt64? = nil, operations: [LogOperation], names: [Name]? = nil
  ) {
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    self.zone = zone
    self.base = base
    self.parent = parent
    self.timestamp = timestamp
    self.writeID = writeID
    self.author = author
    self.label = label
    self.schemaVersion = schemaVersion
    self.operations = operations
    self.names = names
  }

  /// The identity of the transaction in its zone.
  public var id: TransactionID { TransactionID(replica: replica, epoch: epoch, sequence: sequence) }

  /// Returns whether two transactions are equal in every part; texts compare by their UTF-8 bytes.
  public static func == (a: LogTransaction, b: LogTransaction) -> Bool {
    a.header == b.header && a.timestamp == b.timestamp && a.writeID == b.writeID
      && a.author.map(Name.init(rawValue:)) == b.author.map(Name.init(rawValue:))
      && a.label.map(Name.init(rawValue:)) == b.label.map(Name.init(rawValue:))
      && a.schemaVersion == b.schemaVersion && a.operations == b.operations && a.names == b.names
  }

  /// Hashes identity, zone, base, parent, timestamp and operations.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(header)
    hasher.combine(timestamp)
    hasher.combine(operations)
  }

  /// The header: all that is encoded before the body.
  var header: TransactionHeader {
    TransactionHeader(
      replica: replica, epoch: epoch, sequence: sequence, zone: zone, statesOwner: statesOwner, base: base,
      parent: parent)
  }
}
