package import OperationFormat

/// What a head of a record's existence says: one byte 0 for dead; 1 for alive, then the type's number as a
/// varint; 2 for dead here because it moved, then where its copy is, as the operation says it (see
/// `OperationKind`).
package enum Existence: Hashable, Sendable {
  case dead
  case alive(type: NameNumber)
  indirect case moved(to: RecordID)

  /// The first byte of a head that says where to.
  static let movedTag: UInt8 = 2

  func append(to writer: inout ByteWriter) {
    switch self {
    case .dead: writer.append(0)
    case .alive(let type):
      writer.append(1)
      writer.append(varint: UInt64(type.rawValue))
    case .moved(let place):
      writer.append(Self.movedTag)
      writer.append(name: place.zone.owner)
      writer.append(name: place.zone.name)
      writer.append(name: place.name)
    }
  }

  /// Where a record went that is not alive, by the heads of its existence, greatest first: the greatest of those
  /// that let it be dead decides. Nil if that one is a deletion.
  package static func destination(of heads: some Sequence<Existence>) -> RecordID? {
    for head in heads {
      switch head {
      case .alive: continue
      case .dead: return nil
      case .moved(let place): return place
      }
    }
    return nil
  }

  package init(payload: RawSpan) throws(FormatError) {
    var reader = ByteReader(payload)
    switch try reader.readUInt8("row") {
    case 0: self = .dead
    case 1: self = .alive(type: NameNumber(rawValue: try reader.readUInt32Varint("existence.type")))
    case Self.movedTag: self = .moved(to: try RecordID.readOtherPlace(&reader))
    case let tag:
      throw FormatError(
        .unknownTag, at: 0, in: "existence", expected: "0 to 2", found: "\(tag)")
    }
  }
}
