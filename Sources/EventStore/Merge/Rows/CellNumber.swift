import OperationFormat

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

  /// Whether what stands in the record's row are heads: of a register, a counter, contributions or a record's existence.
  @inline(__always) var isOfHeads: Bool { isRegister || layout == .heads }

  package var field: NameNumber { NameNumber(rawValue: rawValue >> 4) }

  /// The number after it, whether there is such a cell or not.
  var next: CellNumber { CellNumber(rawValue: rawValue == .max ? .max : rawValue + 1) }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension CellNumber {
  /// Whether a cell that is there shows anything: a list or a text keeps its units when all of them were removed.
  @inline(__always)
  func shows(_ winner: RecordLayout.Winner, in row: RawSpan) throws(FormatError) -> Bool {
    if isRegister { return true }
    guard layout == .units else { return true }
    return try UnitOrderRoot(row.extracting(winner.payload)).visible > 0
  }
}
