internal import Crypto

/// Takes the ``ContentHash`` of content that comes in pieces.
package struct ContentHasher: Sendable {
  private var state = SHA256()

  /// Creates a hasher that has taken nothing yet.
  package init() {}

  /// Adds the next piece.
  ///
  /// - Complexity: O(n)
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { state.update(bufferPointer: $0) }
  }

  /// Returns the hash of all pieces so far. More may be added afterwards.
  package func finish() -> ContentHash {
    state.finalize().withUnsafeBytes { ContentHash(bytes: $0.bytes)! }
  }
}
