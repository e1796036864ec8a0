import OperationFormat
import Replicator

/// What a file of a remote log holds, as far as it can be read.
struct SegmentFile {
  /// The most bytes of such a file.
  static let bytesMax = SegmentEnvelope.bytesMax

  /// What is wrong with it, and where that counts from.
  struct Problem {
    var error: FormatError
    /// Whether the error's offset counts in the unpacked body, and not in the file.
    var isInBody = false
  }

  let kind: FrameKind
  let byteCount: Int
  /// What the remote wrote in front of the segment.
  private(set) var envelope: SegmentEnvelope?
  private(set) var seal: LogSeal?
  private(set) var tombstone: LogTombstone?
  private(set) var header: SegmentHeader?
  /// None, unless all that the header says is so.
  private(set) var transactions: [LogTransaction] = []
  private(set) var problem: Problem?

  /// Reads a file's bytes.
  ///
  /// - Throws: ``ToolError`` if they are no segment, envelope or seal.
  init(bytes: [UInt8], name: String) throws(ToolError) {
    let kind = FrameKind(of: bytes.span.bytes)
    guard let kind, kind != .zoneEvent else {
      throw .input(
        "notASegment",
        kind == nil
          ? "\(name) is no segment: it does not begin as one" : "\(name) is an entry of the list of zones",
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
        readSegment(Array(bytes.dropFirst(SegmentEnvelope.headerBytes)), at: SegmentEnvelope.headerBytes)
        // What is wrong with the segment says more than that the sizes differ.
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
