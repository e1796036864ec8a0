import OperationFormat

/// Names a cell of a record: which field, and which kind of cell. 0 is the record's existence, 15 its creation.
///
/// The low 4 bits are the kind, the others the number of the field's name.
package struct CellNumber: RawRepresentable, Hashable, Comparable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The register of a field.
  init(register field: NameNumber) { rawValue = field.rawValue << 4 }

  package init(_ field: NameNumber, _ kind: FieldKind) { rawValue = field.rawValue << 4 | kind.rawValue }

  package static let existence = CellNumber(rawValue: 0)
  /// By which transaction the record was created: see ``Creation``. It has no heads.
  package static let creation = CellNumber(rawValue: 0xf)

  /// Nil for a kind of a newer version.
  package var kind: FieldKind? { FieldKind(rawValue: rawValue & 0xf) }

  /// Whether its heads are addends.
  var sumsHeads: Bool { kind?.with { $0.sumsHeads } ?? false }

  @inline(__always) var isRegister: Bool { rawValue & 0xf == FieldKind.register.rawValue }
  /// Whether it is the register of a field: the record's existence is one of none.
  @inline(__always) var isFieldRegister: Bool { isRegister && self != .existence }
  /// Whether it is of a field, and so of none of the record as a whole.
  @inline(__always) var isOfField: Bool { rawValue > 0xf }

  var field: NameNumber { NameNumber(rawValue: rawValue >> 4) }

  /// The number after it, whether there is such a cell or not.
  var next: CellNumber { CellNumber(rawValue: rawValue == .max ? .max : rawValue + 1) }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
