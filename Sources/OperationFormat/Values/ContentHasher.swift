internal import Crypto

/// Computes the ``ContentHash`` of content that arrives in pieces.
package struct ContentHasher: Sendable {
  private var state = SHA256()

  /// Creates a hasher of no bytes yet.
  package init() {}

  /// Adds the next piece.
  ///
  /// - Complexity: O(n)
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { state.update(bufferPointer: $0) }
  }

  /// Returns the hash of all pieces so far. You can add more pieces afterwards.
  package func finish() -> ContentHash {
    state.finalize().withUnsafeBytes { ContentHash(bytes: $0.bytes)! }
  }
}
