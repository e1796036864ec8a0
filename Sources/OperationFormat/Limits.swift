/// The limits of the formats. All sizes are in bytes of the encoded form.
public enum Limits {
  /// The longest name of a zone, its owner, a record type or a field. An LMDB key (511 bytes) holds such a
  /// name, its number and its neighbours.
  public static let nameBytesMax = 128
  /// The longest record name. An LMDB key (511 bytes) holds it and the zone's number before it.
  public static let recordNameBytesMax = 255
  /// The longest key of a map value. It equals that of a record name, because records may be the keys of a
  /// map.
  public static let mapKeyBytesMax = 255
  /// The greatest depth of a value. A scalar has depth 1, an array of scalars 2. It limits the recursion of
  /// every walk over a value.
  public static let valueDepthMax = 32
  /// The largest encoded value (1 MiB). A value is read as a whole, and is stored in consecutive pages. Store
  /// larger bytes as an asset.
  public static let inlineValueBytesMax = 1 << 20
  /// The longest author of a transaction. It should be an identifier, because each transaction stores it.
  public static let authorBytesMax = 255
  /// The longest label of a transaction. It is a sentence for people, not a document.
  public static let labelBytesMax = 1024
  /// The most operations in one transaction. It equals the limit of a segment, because a transaction is never
  /// split. The work of folding allows fewer operations: at most 24,576, see ``foldStepsMax``.
  public static let transactionOperationsMax = 65_536
  /// The most makers (replica and epoch) that the units in one operation may have. It is more than a zone has
  /// writers. It is limited because each new maker is compared with those before it.
  public static let operationMakersMax = 1024
  /// The longest text that one operation inserts (64 KiB). A longer text takes several operations.
  public static let insertedTextBytesMax = 1 << 16
  /// The most names in a transaction's table. An operation of a known kind uses at most three.
  public static let transactionNamesMax = 3 * transactionOperationsMax
  /// The largest encoded transaction, header and body together (8 MiB). It must fit into one segment.
  public static let transactionBytesMax = 8 << 20
  /// The smallest and greatest power of ten in a decimal. With the coefficient's 38 digits, this is the range
  /// of decimals in SQL databases.
  public static let decimalExponents = -38...38
}

/// The limits of segments.
extension Limits {
  /// The greatest offset in a log; the next one still fits into the number. A log that grows by a million
  /// segments a second reaches it after 290,000 years.
  public static let placeMax = UInt64(Int64.max)
  /// The longest note of a tombstone. It is a sentence for people, like a transaction's label.
  public static let noteBytesMax = labelBytesMax
  /// The most operations in one segment.
  public static let segmentOperationsMax = transactionOperationsMax
  /// The most steps of work to fold one segment or one transaction: see `FoldWork`. One commit folds a whole
  /// segment, because a local write between two parts of a segment could not record which part it had seen. A
  /// step takes at most 5 µs on a laptop, so other writers wait at most a quarter of a second.
  public static let foldStepsMax = 49_152
  /// The most lanes that a lane continues, counting those that its parent continues. Each of them is compared
  /// with each head that an operation meets. A store's lane continues one more lane each time the store is
  /// copied, restored, or renewed while it has transactions that were not shipped.
  public static let lineageMax = 64
  /// The largest packed body of a segment (8 MiB, and the frame of one largest transaction).
  public static let segmentPackedBytesMax = transactionBytesMax + 16
  /// The largest sealed body of a segment: the largest packed one, with the tag that its key follows from and
  /// that of the encryption. Padding must leave room for these.
  public static let segmentSealedBytesMax = segmentPackedBytesMax + 32 + 16
  /// The largest unpacked body of a segment (64 MiB). The unpacker enforces it, whatever the header says.
  public static let segmentUnpackedBytesMax = 64 << 20
}

/// The limits of snapshots.
extension Limits {
  /// The largest part of a snapshot, packed or not (8 MiB). A part is read as a whole.
  public static let snapshotPartBytesMax = 8 << 20
  /// The most parts of a snapshot: half a terabyte.
  public static let snapshotPartsMax = 1 << 16
}
