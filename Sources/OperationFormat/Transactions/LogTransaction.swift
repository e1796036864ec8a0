/// The operations of one write in one zone, as they lie in the log.
///
/// It becomes bytes by ``encoded()`` and comes from them by ``init(decoding:)``. A transaction has one
/// encoded form, and what is decoded is encoded again to the same bytes.
public struct LogTransaction: Hashable, Sendable {
  /// The store that made the transaction.
  public var replica: ReplicaID
  /// Which life of that store's identity made it.
  public var epoch: UInt32
  /// The replica's count of its transactions in the zone and epoch, from 1.
  public var sequence: UInt64
  /// The zone that it changes.
  public var zone: ZoneID
  /// What its maker had seen of the zone's remote log; nil for nothing.
  public var base: Base?
  /// In the first transaction of a new identity, the last one of the identity whose place it takes.
  public var parent: TransactionID?
  /// The clock's reading at the write.
  public var timestamp: Timestamp
  /// What the transactions of one write share, when it touched several zones.
  public var writeID: UInt64?
  /// Who made the write: at most 255 bytes of UTF-8.
  public var author: String?
  /// What the write was, in words: at most 1,024 bytes of UTF-8.
  public var label: String?
  /// The version of the schema at the write.
  public var schemaVersion: UInt64?
  /// The changes, in order: 1 to 65,536.
  public var operations: [LogOperation]
  /// The table of names as it came, when there are operations of unknown kinds, whose payloads may point into
  /// it; else nil.
  ///
  /// Only then it is encoded, first and in its order.
  public var names: [Name]?

  /// Creates a transaction. Its limits are checked where it is encoded.
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

  /// Says whether two transactions are equal in every part; texts compare by their UTF-8 bytes.
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

  /// What lies in front of the body.
  package var header: TransactionHeader {
    TransactionHeader(
      replica: replica, epoch: epoch, sequence: sequence, zone: zone, base: base, parent: parent)
  }
}
