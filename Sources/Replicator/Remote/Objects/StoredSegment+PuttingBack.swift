package import OperationFormat

extension StoredSegment {
  /// Throws unless it is a whole segment, or a tombstone, of a token's log at the offset after the token's.
  ///
  /// - Throws: ``RemoteError`` `mismatch`.
  package func checkMayBePutBack(after token: ChangeToken) throws(RemoteError) {
    func refused(_ why: String, _ error: FormatError? = nil) -> RemoteError {
      RemoteError(
        .mismatch, "what is to be put back at offset \(offset) is no entry of that log: \(why)",
        hint: "put back what another store has read there", underlying: error)
    }
    guard offset == token.offset + 1, receivedMilliseconds != .max else {
      throw refused("it is of another place")
    }
    let header: SegmentHeader
    do throws(FormatError) {
      if FrameKind(of: bytes.span.bytes) == .tombstone {
        return try LogObject.checkTombstone(bytes.span.bytes, token.incarnation, offset)
      }
      header = try SegmentFrame.read(bytes.span.bytes).header
    } catch {
      throw refused("\(error)", error)
    }
    guard header.incarnation == token.incarnation, header.zone.name == token.zone.name else {
      throw refused("it is of another log")
    }
  }
}
