import EventStore

/// The rows of a storage. They equal others that differ only in the numbers of records.
struct FoldRows: Equatable {
  let contents: MemoryFoldStorage.Contents
  /// The whole rows of records in version 1: what is stored depends on when they grew.
  private let rows: [[UInt8]]
  /// The contents of lists and texts. The division into rows depends on the order, so it is not compared.
  private let sequences: [[UnitOrderPart]]

  init(_ driver: FoldDriver) throws {
    contents = driver.storage.contents
    rows = try contents.records.map { record in
      let name = Array(record.key.dropFirst(4))
      return try driver.storage.row(of: name.span.bytes, in: FoldNumbering.state) ?? []
    }
    sequences = try driver.history.sequences.map { try driver.parts(of: $0.name) }
  }

  /// The bytes of a record's number in its row.
  private static let rowNumber = 2..<6
  /// The bytes of a record's number in an element's key.
  private static let keyNumber = 4..<8

  static func == (a: FoldRows, b: FoldRows) -> Bool {
    guard a.sequences == b.sequences else { return false }
    let (left, right) = (a.contents, b.contents)
    guard left.records.count == right.records.count else { return false }
    for (left, right) in zip(left.records, right.records) where left.key != right.key { return false }
    for (left, right) in zip(a.rows, b.rows) where !isSame(left, right, except: rowNumber) { return false }
    if left.elements.isEmpty && right.elements.isEmpty { return true }
    return zip(a.rows, b.rows).allSatisfy { leftRow, rightRow in
      isSame(left.elements, of: leftRow[rowNumber], right.elements, of: rightRow[rowNumber])
    }
  }

  private static func isSame(_ left: [UInt8], _ right: [UInt8], except hole: Range<Int>) -> Bool {
    left.count == right.count && left[..<hole.lowerBound] == right[..<hole.lowerBound]
      && left[hole.upperBound...] == right[hole.upperBound...]
  }

  /// Compares the elements of two records, whose numbers are little-endian in rows and big-endian in keys.
  private static func isSame(
    _ left: SortedRows, of leftNumber: ArraySlice<UInt8>,
    _ right: SortedRows, of rightNumber: ArraySlice<UInt8>
  ) -> Bool {
    // The contents of an index of heads depend on how many heads there once were, and on earlier reads.
    func isOf(_ number: ArraySlice<UInt8>, _ element: MemoryFoldStorage.Entry) -> Bool {
      let key = ElementKey(bytes: element.key)
      return element.key[keyNumber].elementsEqual(number.reversed()) && !key.isOfApartIndex && !key.isOfRow
    }
    let left = left.filter { isOf(leftNumber, $0) }
    let right = right.filter { isOf(rightNumber, $0) }
    return left.count == right.count
      && zip(left, right).allSatisfy { $0.row == $1.row && isSame($0.key, $1.key, except: keyNumber) }
  }
}
