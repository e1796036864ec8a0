package import OperationFormat

/// A small number that stands for an identity inside one store. Numbers are given out in order from 1 and never
/// leave the store; 0 stands for none.
package struct Number<Identity>: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static var none: Self { Self(rawValue: 0) }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package typealias ReplicaNumber = Number<ReplicaID>
package typealias IncarnationNumber = Number<IncarnationID>
/// The number of the name of a type or a field.
package typealias NameNumber = Number<Name>
/// What a zone's log, places and token are kept under, for good.
package typealias ZoneNumber = Number<ZoneID>
/// The number of one fold of a zone: what its records and elements are kept under. A rebuild folds into a new one
/// and then lets the zone point to it.
package typealias StateNumber = Number<StateRow>

/// One replica's transactions of one epoch in one zone.
struct Lane: Hashable {
  var zone: ZoneNumber
  var replica: ReplicaNumber
  var epoch: UInt32
}

/// Names a cell of a record: which field, and which kind of cell. 0 is the record's existence.
///
/// The low 4 bits are the kind, the others the number of the field's name.
package struct CellNumber: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The register of a field.
  package init(register field: NameNumber) { rawValue = field.rawValue << 4 }

  package init(_ field: NameNumber, _ kind: FieldKind) { rawValue = field.rawValue << 4 | kind.rawValue }

  package static let existence = CellNumber(rawValue: 0)

  /// Nil for a kind of a newer version.
  package var kind: FieldKind? { FieldKind(rawValue: rawValue & 0xf) }

  @inline(__always) var isRegister: Bool { rawValue & 0xf == FieldKind.register.rawValue }
  /// Whether it is the register of a field: the record's existence is one of none.
  @inline(__always) var isFieldRegister: Bool { isRegister && self != .existence }
  @inline(__always) var isCounter: Bool { rawValue & 0xf == FieldKind.counter.rawValue }

  /// Whether what stands in the record's row are heads: of a register, a counter, contributions or a record's existence.
  @inline(__always) var isOfHeads: Bool {
    let kind = rawValue & 0xf
    return kind <= FieldKind.counter.rawValue || kind == FieldKind.contributions.rawValue
  }

  package var field: NameNumber { NameNumber(rawValue: rawValue >> 4) }

  /// The number after it, whether there is such a cell or not.
  var next: CellNumber { CellNumber(rawValue: rawValue == .max ? .max : rawValue + 1) }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
