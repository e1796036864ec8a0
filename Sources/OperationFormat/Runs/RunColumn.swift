/// What a part of a run is. In columns, parts of one sort stand together: they resemble each other, so a
/// compressor has one code for them.
///
/// The order is that of the columns.
enum RunColumn: Int, CaseIterable {
  /// The heads of transactions, counts of operations, shapes of operations.
  case heads
  /// Differences of timestamps: the number without its last byte, and that byte.
  case times, timesLow
  /// Names of records, by number.
  case records
  /// Names of types and fields, authors and labels, by number.
  case words
  /// Strings, by number.
  case strings
  /// Byte counts and forms of texts.
  case lengths
  /// Texts that were inserted in texts.
  case letters
  /// Other texts.
  case texts
  /// Units of lists and texts.
  case units
  /// Numbers: the number without its last byte, and that byte.
  case numbers, numbersLow
  /// Parts that stay as they are in a transaction.
  case plain
  /// Bytes that look random.
  case random

  static let count = allCases.count
}

/// How the parts of a run are laid out.
package enum RunLayout: Sendable {
  /// Transaction after transaction: one more can be appended.
  case rows
  /// Column after column: it is smaller when it is compressed.
  case columns

  /// The mask of a column's number that gives the number of its bytes.
  var mask: Int {
    switch self {
    case .rows: 0
    case .columns: 15
    }
  }
}
