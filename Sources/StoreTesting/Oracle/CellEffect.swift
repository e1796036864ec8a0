import EventStore
import OperationFormat

/// What an operation on a field does, by the table of DESIGN.md, 3.
struct CellEffect {
  let kind: FieldKind
  /// The element of a set or a map that it works on.
  let element: ModelElement?
  /// What its head says; nil if it adds none.
  let content: CellHead.Content?

  /// Nil for a change of a list or a text.
  init?(of change: FieldChange) {
    switch change {
    case .set(let value): self.init(.register, nil, .value(value))
    case .add(let value): self.init(.counter, nil, .addend(value))
    case .contribute(let value): self.init(.contributions, nil, .contribution(value))
    case .insert(let value): self.init(.set, ModelElement(value), .element(value))
    case .remove(let value): self.init(.set, ModelElement(value), nil)
    case .put(let key, let value): self.init(.map, ModelElement(key), .entry(key: key, value))
    case .removeKey(let key): self.init(.map, ModelElement(key), nil)
    default: return nil
    }
  }

  private init(_ kind: FieldKind, _ element: ModelElement?, _ content: CellHead.Content?) {
    self.kind = kind
    self.element = element
    self.content = content
  }
}

/// An element of a set, or a key of a map, in the order in which stores have them: those of at most 128 bytes by their bytes,
/// then the others by their hash.
struct ModelElement: Hashable, Comparable {
  /// The encoded element, or the UTF-8 of the key.
  let identity: [UInt8]
  private let order: [UInt8]

  init(_ element: Value) {
    do { self.init(try element.encoded()) } catch {
      preconditionFailure("a value of the log that is none: \(error)")
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
