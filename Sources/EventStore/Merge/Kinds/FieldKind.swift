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

extension FieldKind {
  /// The one switch over kinds: calls a closure with what a kind says of itself. The compiler turns what the closure calls
  /// into direct calls, one for each kind.
  @inline(__always)
  func with<R>(_ body: (any FieldCellKind.Type) throws -> R) rethrows -> R {
    switch self {
    case .register: try body(RegisterKind.self)
    case .counter: try body(CounterKind.self)
    case .set: try body(SetKind.self)
    case .map: try body(MapKind.self)
    case .list: try body(ListKind.self)
    case .text: try body(TextKind.self)
    case .contributions: try body(ContributionKind.self)
    }
  }

  /// What a record's row has of such a cell.
  @inline(__always) var layout: CellLayout { with { $0.layout } }

  /// By the number of an operation, the kind of cell that it works on.
  private static let byOperation: [FieldKind?] = {
    var kinds: [FieldKind?] = Array(repeating: nil, count: Int(OperationKind.lastKnown.rawValue) + 1)
    for kind in allCases {
      for operation in kind.with({ $0.operations }) { kinds[Int(operation.rawValue)] = kind }
    }
    return kinds
  }()

  /// The kind of cell that an operation works on; nil for one on a record's existence and for those of newer versions.
  init?(of operation: OperationKind) {
    guard operation.isKnown, let kind = Self.byOperation[Int(operation.rawValue)] else { return nil }
    self = kind
  }
}
