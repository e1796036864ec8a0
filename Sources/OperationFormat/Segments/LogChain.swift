/// One hash for all of a zone's remote log up to an offset.
///
/// Two readers with the same chain at an offset have read the same log up to there. A remote that changes an
/// entry, or that gives different readers different entries, also changes every chain from there on.
///
/// | chain | is the SHA-256 of |
/// |---|---|
/// | at offset 0 | `TRCH`, 1 (1 byte), the incarnation (16, big-endian) |
/// | at offset n | the chain at n − 1, n (8, big-endian), the SHA-256 of the entry's statement |
///
/// The statement of a segment is a ``SegmentStatement``. That of a tombstone is all its bytes.
public struct LogChain: Hashable, Sendable, CustomStringConvertible {
  public let hash: ContentHash

  public init(hash: ContentHash) { self.hash = hash }

  /// The chain before the first entry of an incarnation.
  public static func start(of incarnation: IncarnationID) -> LogChain {
    var writer = ByteWriter()
    writer.append(magic: "TRCH")
    writer.append(1)
    writer.append(bigEndian: incarnation.rawValue)
    return LogChain(hash: ContentHash(of: writer.span))
  }

  /// The chain at an offset.
  ///
  /// - Parameters:
  ///   - statement: the SHA-256 of the statement of the entry there.
  ///   - offset: its offset in the log, from 1.
  ///   - before: the chain at the offset before.
  public init(_ statement: ContentHash, at offset: UInt64, after before: LogChain) {
    var writer = ByteWriter()
    before.hash.write(to: &writer)
    writer.append(bigEndian: offset)
    statement.write(to: &writer)
    hash = ContentHash(of: writer.span)
  }

  public var description: String { hash.description }
}

/// The chain at an entry of a log, for a reader that has read the log up to the entry before.
package struct ChainLink: Hashable, Sendable {
  /// The chain there; nil if it cannot be known.
  package private(set) var chain: LogChain?
  /// Whether the entry continues the log. If not, it was written for another one: the remote was changed by
  /// hand, was put together from two copies, or shows each store another log.
  package private(set) var continues: Bool

  /// - Parameters:
  ///   - statement: the SHA-256 of the entry's statement.
  ///   - offset: its offset, from 1.
  ///   - stated: the chain there as the remote states it; nil if it states none, because the writer of the entry
  ///     could not read the one before, or was an earlier program.
  ///   - before: the chain at the offset before; nil if it is not known.
  package init(_ statement: ContentHash, at offset: UInt64, stated: LogChain?, after before: LogChain?) {
    let found = before.map { LogChain(statement, at: offset, after: $0) }
    chain = found ?? stated
    continues = chain == stated ?? chain
  }

  /// Takes the chain that the remote states, because an entry was given up since it last stated one. What follows
  /// may have been written after the entry that was there, and then its chain is over that entry.
  package mutating func adopt(_ stated: LogChain?) {
    if !continues { (chain, continues) = (stated, true) }
  }
}
