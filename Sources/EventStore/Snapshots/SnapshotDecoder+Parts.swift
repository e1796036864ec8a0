import OperationFormat

extension SnapshotDecoder {
  /// A part that is to be fetched first.
  private struct PartNeeded: Error {}

  /// Calls a closure with what gives the first parts of a content that is elsewhere; again with more of them, if it needs
  /// more.
  ///
  /// - Parameter content: gives what is in a part.
  static func withFirstParts<R>(
    of manifest: SnapshotManifest, _ content: (_ index: Int) async throws -> [UInt8],
    _ body: (_ part: @escaping (_ index: Int) throws -> [UInt8]) throws -> R
  ) async throws -> R {
    var parts: [[UInt8]] = []
    while true {
      let found = Result {
        try body { [parts] index in
          guard parts.indices.contains(index) else { throw PartNeeded() }
          return parts[index]
        }
      }
      guard case .failure(_ as PartNeeded) = found else { return try found.get() }
      // Twice as many each time: it is decoded from its start again.
      for index in parts.count..<min(max(1, 2 * parts.count), manifest.parts.count) {
        parts.append(try await content(index))
      }
    }
  }
}
