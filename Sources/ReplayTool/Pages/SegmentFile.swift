import OperationFormat
import Replicator

/// The contents of a file of a remote log, as far as they can be read.
struct SegmentFile {
  /// The most bytes of such a file.
  static let bytesMax = SegmentEnvelope.bytesMax

  /// A problem of the file, and what its offset counts from.
  struct Problem {
    var error: FormatError
    /// Whether the error's offset counts from the start of the unpacked body, not of the file.
    var isInBody = false
  }

  let kind: FrameKind
  let byteCount: Int
  /// The envelope that the remote wrote before the segment.
  private(set) var envelope: SegmentEnvelope?
  private(set) var seal: LogSeal?
  private(set) var tombstone: LogTombstone?
  private(set) var header: SegmentHeader?
  /// The transactions; empty unless all of them match the header.
  private(set) var transactions: [LogTransaction] = []
  private(set) var problem: Problem?

  /// Reads a file's bytes.
  ///
  /// - Throws: ``ToolError`` if they are not a segment, an envelope or a seal.
  init(bytes: [UInt8], name: String) throws(ToolError) {
    let kind = FrameKind(of: bytes.span.bytes)
    let others: [FrameKind: String] = [
      .zoneEvent: "an entry of the list of zones", .snapshot: "what a snapshot has",
      .floor: "where a log begins",
    ]
    guard let kind, others[kind] == nil else {
      throw .input(
        "notASegment",
        kind.flatMap { others[$0] }.map { "\(name) is \($0)" }
          ?? "\(name) is not a segment: it does not start like one",
        hint:
          "give a file of a zone's log, as a remote folder keeps it. If this is one, its first bytes are damaged: "
          + "`replay remote REMOTE` says what is wrong with the log")
    }
    self.kind = kind
    byteCount = bytes.count
    do throws(FormatError) {
      switch kind {
      case .tombstone: tombstone = try LogTombstone.read(bytes.span.bytes)
      case .seal: seal = try LogSeal.read(bytes.span.bytes)
      case .envelope:
        let found = try SegmentEnvelope.readHeader(bytes.span.bytes)
        envelope = found
        readSegment(Array(bytes.dropFirst(found.headerBytes)), at: found.headerBytes)
        // A problem of the segment is more useful than the wrong size.
        if problem == nil { _ = try SegmentEnvelope.read(bytes.span.bytes) }
      default: readSegment(bytes, at: 0)
      }
    } catch {
      problem = Problem(error: error)
    }
  }

  private mutating func readSegment(_ bytes: [UInt8], at start: Int) {
    do throws(FormatError) {
      header = try SegmentFrame.readHeader(bytes.span.bytes)
      _ = try SegmentFrame.read(bytes.span.bytes)
    } catch {
      var placed = error
      placed.offset += start
      problem = Problem(error: placed)
      return
    }
    do throws(FormatError) {
      for transaction in try SegmentPacker.unpack(bytes).transactions {
        transactions.append(try LogTransaction(decoding: transaction.span.bytes))
      }
    } catch {
      transactions = []
      problem = Problem(error: error, isInBody: true)
    }
  }
}
