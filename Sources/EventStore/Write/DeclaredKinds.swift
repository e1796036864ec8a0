import OperationFormat

/// The kinds that the app has declared for fields, by numbers: see ``StoreConfiguration/fieldKinds``.
struct DeclaredKinds {
  private struct Field: Hashable {
    let type: NameNumber
    let field: NameNumber
  }

  private let kinds: [Name: [Name: Set<FieldKind>]]
  /// Those that were asked for; nil for a field that is not declared.
  private var known: [Field: Set<FieldKind>?] = [:]

  init(_ kinds: [Name: [Name: Set<FieldKind>]]) { self.kinds = kinds }

  /// - Throws: ``StoreError`` `kindMismatch`.
  mutating func check(
    _ kind: OperationKind, _ field: NameNumber, of type: NameNumber, _ name: (NameNumber) throws -> Name
  ) throws {
    let key = Field(type: type, field: field)
    let declared: Set<FieldKind>?
    if let found = known[key] {
      declared = found
    } else {
      declared = kinds[try name(type)]?[try name(field)]
      known[key] = .some(declared)
    }
    guard let declared, let kind = FieldKind(of: kind), !declared.contains(kind) else { return }
    let names = FieldKind.allCases.filter(declared.contains).map { "\($0)" }.joined(separator: " or ")
    throw StoreError(
      .kindMismatch, "the field “\(try name(field))” of “\(try name(type))” is a \(names), not a \(kind)",
      hint: "use a verb of its kind, or declare a field of another name")
  }

  /// Forgets the numbers: they may have been taken back.
  mutating func removeAll() { known.removeAll(keepingCapacity: true) }
}
