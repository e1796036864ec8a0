internal import OperationFormat

/// Says that a place is a remote, and which one. It is put once, and read before anything else. Before the first log of
/// the remote is trimmed, it is written again with the version 2: programs that know only version 1 would take such a log
/// for an empty one.
///
/// | bytes | what |
/// |---|---|
/// | 4 | `TRRM` |
/// | 1 | version: 1, or 2 if a log may begin later than with its first entry |
/// | 1 | flags, 0 |
/// | 16 | the remote's identity, big-endian |
/// | 4 | CRC-32C of all bytes before it, little-endian |
struct RemoteMarker: Hashable {
  static let byteCount = 26
  private static let magic: [UInt8] = Array("TRRM".utf8)
  private static let versions: ClosedRange<UInt8> = 1...2

  var remote: RemoteID
  /// Whether a log may begin later than with its first entry.
  var hasTrimmedLogs = false

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(Self.magic + [hasTrimmedLogs ? 2 : 1, 0])
    writer.append(bigEndian: remote.rawValue)
    writer.append(littleEndian: crc32c(writer.span))
    return writer.bytes
  }

  /// Reads a marker of the remote of a name.
  ///
  /// - Throws: ``RemoteError`` `notARemote` for other bytes, `newerFormat`, `damaged`.
  static func read(_ bytes: [UInt8], of name: String) throws(RemoteError) -> RemoteMarker {
    guard bytes.starts(with: magic) else {
      throw RemoteError(
        .notARemote, "\(name) is no remote: its object `remote` is something else",
        hint: "check the address; if it is right, \(restoring)")
    }
    // A damaged marker must not look like one of a later version.
    let body = bytes.span.bytes.extracting(..<max(bytes.count - 4, 0))
    let isWhole = bytes.count >= 4 && Array(bytes.suffix(4)) == Self.checksum(of: body)
    if bytes.count > byteCount || isWhole, !versions.contains(bytes[4]) || bytes[5] != 0 {
      throw RemoteError(
        .newerFormat,
        "\(name) has the format \(bytes[4]).\(bytes[5]), and this version knows up to \(versions.upperBound).0",
        hint: "use a newer version of the program")
    }
    var reader = ByteReader(bytes.span.bytes, at: magic.count)
    do throws(FormatError) {
      _ = try reader.readBytes(2, "remote.version")
      let remote = RemoteID(rawValue: try reader.readBigEndian("remote.identity"))
      _ = try reader.readBytes(4, "remote.checksum")
      try reader.finish("remote")
      if isWhole { return RemoteMarker(remote: remote, hasTrimmedLogs: bytes[4] == 2) }
    } catch {
      throw damaged(name, error)
    }
    throw damaged(name, nil)
  }

  private static func checksum(of bytes: RawSpan) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(littleEndian: crc32c(bytes))
    return writer.bytes
  }

  private static let restoring =
    "restore the object from a backup, or put it back from a store that was synced there: "
    + "`replay remote REMOTE --repair STORE`"

  private static func damaged(_ name: String, _ error: FormatError?) -> RemoteError {
    RemoteError(
      .damaged,
      "the object `remote` of \(name) is damaged\(error.map { ": \($0)" } ?? ": its checksum is wrong")",
      hint: "only that object says which remote this is: \(restoring)",
      underlying: error)
  }
}
