import OperationFormat

/// The table of kinds: the one place that knows all of them. Everything else reaches a kind through it, and sees
/// ``CellKind`` or ``FieldCellKind``.
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

extension CellNumber {
  /// Calls a closure with the kind of the cell; nil for a kind of a newer version.
  @inline(__always)
  func withKind<R>(_ body: (any CellKind.Type) throws -> R) rethrows -> R? {
    if self == .existence { return try body(ExistenceKind.self) }
    return try kind?.with { try body($0) }
  }
}
