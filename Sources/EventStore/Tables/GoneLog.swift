import OperationFormat

/// A deleted log of a zone, deleted here or at the remote.
struct GoneLog: Hashable, Sendable {
  /// Whether it was deleted here while the remote did not have it. If the remote has it again, the replicator
  /// tells it.
  var isUntold: Bool

  /// The row of an untold deletion. Any other row is empty.
  static let untold: UInt8 = 1

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    isUntold = reader.remaining > 0
    if isUntold, case let byte = try reader.readUInt8("goneLog"), byte != Self.untold {
      throw FormatError(
        .unknownTag, at: 0, in: "goneLog", expected: "nothing, or \(Self.untold)", found: "\(byte)")
    }
    try reader.finish("goneLog")
  }
}
