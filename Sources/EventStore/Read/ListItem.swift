public import OperationFormat

/// An element of a list, with what identifies it.
public struct ListItem: Hashable, Sendable, Identifiable {
  /// Stays the same while the element moves, gets another value, and others come and go around it. It names
  /// the element among those of its field, on every replica.
  public let id: UnitReference
  /// The element's value. A reference that reads as missing keeps its place, as null.
  public let value: Value

  package init(id: UnitReference, value: Value) {
    self.id = id
    self.value = value
  }
}
