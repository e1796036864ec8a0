/// Names a cell: one of a field, or that of one element of a set or a map.
package struct CellPath: Hashable, Sendable {
  package var cell: CellNumber
  /// Nil for the cell itself, which is in the record's row.
  package var element: ElementName?

  package init(_ cell: CellNumber, _ element: ElementName? = nil) {
    self.cell = cell
    self.element = element
  }
}
