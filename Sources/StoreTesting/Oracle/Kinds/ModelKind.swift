import EventStore
import OperationFormat

/// What the oracle knows about a kind of field. Each kind has a file; ``FieldKind/model`` is the table of
/// them.
///
/// It shares nothing with the kinds in `Merge` but the names of kinds and the types of heads.
protocol ModelKind {
  static var shape: ModelShape { get }
  static var reading: ModelReading { get }
  /// What a field reads; nil for nothing.
  ///
  /// - Parameter shown: what a value reads; nil for nothing.
  static func value(of field: RecordHeads.Field, _ shown: (Value) -> Value?) -> Value?
  /// The values that a field shows, if references in it count.
  static func referringValues(of field: RecordHeads.Field) -> [Value]
  /// The heads that are in conflict, cell by cell; those of a map with their keys.
  static func conflicts(in field: RecordHeads.Field) -> [(key: Name?, heads: [CellHead])]
}

/// What a field of a kind consists of.
enum ModelShape {
  /// One cell.
  case cell
  /// A cell for each element or key.
  case elements
  /// Units, as `UnitOrderOracle` has them.
  case units
}

/// How the heads of a cell are read.
enum ModelReading {
  /// As they are.
  case heads
  /// Heads of the same transaction are one head, whose content is their sum.
  case sums
  /// As they are. Their payloads have an order of their own.
  case payloads
}

extension FieldKind {
  /// What the oracle knows about the kind.
  var model: any ModelKind.Type {
    switch self {
    case .register: ModelRegister.self
    case .counter: ModelCounter.self
    case .set: ModelSet.self
    case .map: ModelMap.self
    case .list: ModelList.self
    case .text: ModelUnicodeText.self
    case .contributions: ModelContributions.self
    }
  }
}
