public import OperationFormat

extension ModelIndex {
  /// - Parameters:
  ///   - name: the index's name in the store; made of the fields' unless given.
  ///   - isUnique: whether no two records should have the same values: see `duplicates(of:)`.
  ///   - columns: by what it orders.
  public init(
    _ name: Name? = nil, isUnique: Bool = false,
    by columns: @escaping @Sendable (Columns<M>) -> [any IndexColumn]
  ) {
    (self.name, self.isUnique) = (name, isUnique)
    parts = { columns(Columns()).map(\.indexPart) }
  }

  var definition: IndexDefinition { M.index(name, parts(), isUnique: isUnique) }
}

/// What an index orders by: a field, or the elements of one.
public protocol IndexColumn {
  /// The column in the terms of the store.
  var indexPart: IndexPart { get }
}

extension Column: IndexColumn {
  public var indexPart: IndexPart { IndexPart(.value(field)) }

  /// The column, greatest first: for an index that serves queries sorted by several fields in different
  /// directions.
  public var descending: some IndexColumn {
    PartColumn(indexPart: IndexPart(.value(field), isDescending: true))
  }
}

extension Column where T == String {
  /// The words of the text, for an index that `hasWords` uses.
  public var words: some IndexColumn { PartColumn(indexPart: IndexPart(.words(field))) }
}

extension Column where T == String? {
  /// The words of the text, for an index that `hasWords` uses.
  public var words: some IndexColumn { PartColumn(indexPart: IndexPart(.words(field))) }
}

/// Each of some fields, for an index that an ``EachQuery`` with the same fields uses.
public struct Each: IndexColumn {
  public let indexPart: IndexPart

  public init(_ columns: any QueryColumn...) {
    indexPart = IndexPart(.eachOf(columns.map(\.field)))
  }
}

extension RefColumn: IndexColumn {
  public var indexPart: IndexPart { IndexPart(.value(field)) }
}

extension ElementsColumn: IndexColumn {
  public var indexPart: IndexPart { IndexPart(.elements(field)) }
}

extension EntriesColumn: IndexColumn {
  public var indexPart: IndexPart { IndexPart(.elements(field)) }
}

private struct PartColumn: IndexColumn {
  let indexPart: IndexPart
}

extension Model {
  public typealias Index = ModelIndex<Self>

  public static var indexes: [Index] { [] }

  /// The indexes of the model in the terms of the store: of single fields first.
  static var indexDefinitions: [IndexDefinition] {
    let fields = schema.ownFields.compactMap { $0 as? any IndexableField }
    let single = fields.filter(\.definition.isIndexed).map { index(nil, [$0.indexPart], isUnique: false) }
    return single + indexes.map(\.definition)
  }

  fileprivate static func index(_ name: Name?, _ parts: [IndexPart], isUnique: Bool) -> IndexDefinition {
    let fields = parts.map(\.text).joined(separator: ", ")
    return IndexDefinition(
      name ?? Name("\(type): \(fields)"), of: schema.types, by: parts, isUnique: isUnique)
  }
}

extension IndexPart {
  /// What the part is in the name of an index.
  fileprivate var text: String {
    let fields = queryFields.map { "\($0)" }.joined(separator: " or ")
    let kind =
      switch content {
      case .value, .elements: ""
      case .words: "words of "
      case .eachOf: "each of "
      }
    return kind + fields + (isDescending ? " desc" : "")
  }
}
