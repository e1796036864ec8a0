import OperationFormat

/// What stands for an element of a set, or a key of a map, in keys of rows.
package struct ElementName: Hashable, Sendable {
  /// Identities of more bytes are named by their hash: a key of LMDB takes 511 bytes.
  static let literalBytesMax = 128

  /// 0 and the identity, or 1 and its SHA-256; in a list 2 or 3 and the element's unit.
  package let bytes: [UInt8]

  /// - Parameter identity: the encoded value of an element, or the UTF-8 of a key.
  package init(_ identity: RawSpan) {
    var writer = ByteWriter()
    if identity.byteCount <= Self.literalBytesMax {
      writer.append(0)
      writer.append(identity)
    } else {
      writer.append(1)
      ContentHash(of: identity).write(to: &writer)
    }
    bytes = writer.bytes
  }

  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// What the names of all identities begin with that begin with some bytes: those of others that are named by
  /// their hash do too.
  static func prefixes(ofKeysFrom start: RawSpan) -> [[UInt8]] {
    start.byteCount <= literalBytesMax ? [[0] + start.bytes, [1]] : [[1]]
  }

  /// The register of which place of a list an element is at.
  init(placeOf item: UnitID) { self.init(2, item) }

  /// The register of an element's value in a list.
  init(valueOf item: UnitID) { self.init(3, item) }

  private init(_ tag: UInt8, _ item: UnitID) {
    var writer = ByteWriter()
    writer.append(tag)
    writer.append(bigEndian: item.replica.rawValue)
    writer.append(bigEndian: item.epoch)
    writer.append(bigEndian: item.number)
    bytes = writer.bytes
  }

  /// How many bytes name a register of a list's element.
  static let itemBytes = 17
}
