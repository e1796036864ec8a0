import OperationFormat

/// Text that the operation at hand has inserted, and that what is typed behind it joins.
struct TypedText {
  var record: [UInt8]
  var field: NameNumber
  var index: UInt32
  var origin: UnitReference?
  var text: String
  /// Its last unit.
  var last: UnitID

  /// Longer ones end: to join costs as much as there is.
  static let bytesMax = 4096
}
