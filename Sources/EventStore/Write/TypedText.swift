import OperationFormat

/// The text that a draft's last operation has inserted. Text that is typed after it extends the operation.
struct TypedText {
  var record: [UInt8]
  var field: NameNumber
  var index: UInt32
  var origin: UnitReference?
  var text: String
  /// Its last unit.
  var last: UnitID

  /// The longest text that is extended: extending costs as much as the text is long.
  static let bytesMax = 4096
}
