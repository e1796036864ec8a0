/// The limits of the formats. All sizes are in bytes of the encoded form.
public enum Limits {
  /// The longest name of a zone, its owner, a record type or a field: such a name fits, with its number and
  /// neighbours, into one LMDB key (511 bytes).
  public static let nameBytesMax = 128
  /// The longest record name: with the zone's number before it, it fits into one LMDB key (511 bytes).
  public static let recordNameBytesMax = 255
  /// The longest key of a map value: the same as a record name, because a map may be keyed by records.
  public static let mapKeyBytesMax = 255
  /// The deepest value; a scalar has depth 1, an array of scalars 2. It bounds the recursion of every walk.
  public static let valueDepthMax = 32
  /// The largest encoded value (1 MiB): one value is read whole and lies in a page run of the store. What
  /// is larger is an asset.
  public static let inlineValueBytesMax = 1 << 20
  /// The longest author of a transaction: it is written once a transaction, so it should be an identifier.
  public static let authorBytesMax = 255
  /// The longest label of a transaction: a sentence for people, not a document.
  public static let labelBytesMax = 1024
  /// The most operations in one transaction: as many as one segment may hold, because a transaction is never
  /// cut in two. The work of folding them allows fewer: at most 24,576, see ``foldStepsMax``.
  public static let transactionOperationsMax = 65_536
  /// The most replicas' epochs whose units one operation names: more than a zone has writers. Each new one is compared with
  /// those before it.
  public static let operationMakersMax = 1024
  /// The longest text that a writer inserts by one operation (64 KiB): a longer one takes several.
  public static let insertedTextBytesMax = 1 << 16
  /// The most names in a transaction's table: an operation of a known kind uses at most three.
  public static let transactionNamesMax = 3 * transactionOperationsMax
  /// The largest encoded transaction, header and body together (8 MiB): it must fit into one segment.
  public static let transactionBytesMax = 8 << 20
  /// The smallest and greatest power of ten in a decimal: with the 38 digits of the coefficient, as wide as
  /// the decimals of SQL databases.
  public static let decimalExponents = -38...38
}

/// The limits of segments.
extension Limits {
  /// The greatest offset in a log: the one after it is still a number. A log that grows by a million segments a second gets
  /// there after 290,000 years.
  public static let placeMax = UInt64(Int64.max)
  /// The longest note on a tombstone: a sentence for people, as a transaction's label.
  public static let noteBytesMax = labelBytesMax
  /// The most operations in one segment.
  public static let segmentOperationsMax = transactionOperationsMax
  /// The most steps of work that folding one segment, or one transaction, may be: see `FoldWork`. A commit folds a whole segment,
  /// because what is written between two parts of one could not say which of them it had seen. A step takes 5 µs at the
  /// most on a laptop, so others wait a quarter of a second at the most.
  public static let foldStepsMax = 49_152
  /// The most lanes that a lane continues, its parent's own lineage counted: each of them is looked at for each head that an
  /// operation meets. A store's lane continues one more each time that it is copied, restored or renewed with
  /// transactions that were not shipped.
  public static let lineageMax = 64
  /// The largest body of a segment as it is packed (8 MiB, and what one largest transaction is framed with).
  public static let segmentPackedBytesMax = transactionBytesMax + 16
  /// The largest body of a segment as it is unpacked (64 MiB). It holds against what unpacking really gives.
  public static let segmentUnpackedBytesMax = 64 << 20
}
