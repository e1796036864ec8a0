import OperationFormat

/// The kinds of cells that a field may have. Two kinds under one name are two cells.
public enum FieldKind: UInt32, Hashable, Sendable, CaseIterable {
  /// One value: the last writer's.
  case register = 0
  /// A sum of contributions.
  case counter = 1
  /// Elements, each of which is there or not: one that was added concurrently with its removal stays.
  case set = 2
  /// Values by keys: as a set of keys, each with the last writer's value.
  case map = 3
  /// Elements in an order, each with the last writer's place and value.
  case list = 4
  /// Unicode scalars in an order.
  case text = 5
  /// Payloads in an order, which the app's own reducer makes one value of.
  case contributions = 6
}
