import OperationFormat

/// An element of a set, or a key of a map, in the order of stores: first those of at most 128 bytes by their
/// bytes, then the others by their hash.
struct ModelElement: Hashable, Comparable {
  /// The encoded element, or the UTF-8 of the key.
  let identity: [UInt8]
  private let order: [UInt8]

  init(_ element: Value) {
    do { self.init(try element.encoded()) } catch {
      preconditionFailure("a value in the log that cannot be encoded: \(error)")
    }
  }

  init(_ key: Name) { self.init(Array(key.rawValue.utf8)) }

  private init(_ identity: [UInt8]) {
    self.identity = identity
    order = identity.count <= 128 ? identity : Array("\(ContentHash(of: identity.span.bytes))".utf8)
  }

  static func < (a: ModelElement, b: ModelElement) -> Bool {
    if (a.identity.count <= 128) != (b.identity.count <= 128) { return a.identity.count <= 128 }
    return a.order.lexicographicallyPrecedes(b.order)
  }
}
