public import OperationFormat

extension ModelIndex {
  /// - Parameters:
  ///   - name: the index's name in the store; made of the fields' unless given.
  ///   - isUnique: whether no two records should have the same values: see `duplicates(in:)` of `EventStore`.
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

  /// The column, greatest first: for an index that serves queries sorted by several fields in different directions.
  public var descending: some IndexColumn {
    DescendingColumn(indexPart: IndexPart(.value(field), isDescending: true))
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

private struct DescendingColumn: IndexColumn {
  let indexPart: IndexPart
}

extension Model {
  public typealias Index = ModelIndex<Self>

  public static var indexes: [Index] { [] }

  /// The indexes of the model in the terms of the store: of single fields first.
  static var indexDefinitions: [IndexDefinition] {
    let fields = ModelSchema.of(Self.self).properties.compactMap { $0.field as? any IndexableField }
    let single = fields.filter(\.definition.isIndexed).map { index(nil, [$0.indexPart], isUnique: false) }
    return single + indexes.map(\.definition)
  }

  fileprivate static func index(_ name: Name?, _ parts: [IndexPart], isUnique: Bool) -> IndexDefinition {
    let fields = parts.map { "\($0.queryField)\($0.isDescending ? " desc" : "")" }.joined(separator: ", ")
    return IndexDefinition(name ?? Name("\(type): \(fields)"), of: [type], by: parts, isUnique: isUnique)
  }
}
