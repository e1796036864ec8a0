import ArgumentParser
import EventStore
import OperationFormat

/// `replay schema`: which types of records a store has, with which fields.
struct SchemaCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema", abstract: "Shows the types of records, their fields, and the indexes.",
    discussion: """
      A store needs no schema: this is what the records have. For each field it shows its kinds, in how many records it \
      is, and what kinds of values it has, with their number. A field that is of two kinds, or has values of two kinds, \
      may come from two versions of the app.

      A field that the app declares has the declared kind. Where records have other kinds of it too, those follow after \
      “also”, with the number of records.

      Example: replay schema notes.store
      """)

  @OptionGroup var store: StoreOptions

  @Option(help: ArgumentHelp("Only records of this zone.", valueName: "zone"))
  var zone: String?

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let zone = try zone.map(Inputs.zone)
    let opened = try store.openForReading(console)
    defer { opened.close() }
    let (types, indexes) = try opened.read { transaction in
      if let zone { try Inputs.check(zone, in: transaction) }
      var found = FoundSchema(try transaction.declaredFields(), isWhole: zone == nil)
      let progress = Progress(console)
      for zone in try zone.map({ [$0] }) ?? transaction.zones() {
        try transaction.forEachRecord(in: zone) { record in
          if console.isInterrupted() { throw Interrupted() }
          try found.add(record, transaction)
          if found.recordCount % 1024 == 0 { try progress.update("records", done: found.recordCount) }
          return true
        }
      }
      progress.end()
      return (found.types, try opened.indexes())
    }
    for (name, type) in types.sorted(by: { $0.key < $1.key }) {
      let indexes = indexes.filter { $0.definition.types.contains(name) }
      if store.json {
        try console.output.line(type.json(name, indexes))
      } else {
        try type.print(name, indexes, console.output)
      }
    }
    if types.isEmpty, !store.json {
      try console.output.line(console.output.styled("there are no records", .quiet))
    }
    return nil
  }
}

/// What records have.
private struct FoundSchema {
  struct Field {
    var kinds: [FieldKind: Int] = [:]
    /// How many values of each kind it has, elements included.
    var values: [String: Int] = [:]
    /// What the app has declared; nil if nothing.
    var declared: QueryField?
  }

  struct RecordType {
    var recordCount = 0
    /// Whether the app has declared any field of it.
    var isDeclared = false
    var fields: [Name: Field] = [:]
  }

  var types: [Name: RecordType] = [:]
  var recordCount: UInt64 = 0
  private let declared: DeclaredFields

  /// - Parameter isWhole: whether types that no record has are shown too.
  init(_ declared: DeclaredFields, isWhole: Bool) {
    self.declared = declared
    for type in isWhole ? Array(declared.types.keys) : [] { types[type] = made(type) }
  }

  private func made(_ name: Name) -> RecordType {
    var type = RecordType()
    guard let fields = declared.types[name] else { return type }
    type.isDeclared = true
    type.fields = fields.mapValues { Field(declared: $0) }
    return type
  }

  mutating func add(_ record: Record, _ transaction: borrowing ReadTransaction) throws {
    recordCount += 1
    var type = types[record.type] ?? made(record.type)
    type.recordCount += 1
    for name in try transaction.fields(of: record.id) {
      var field = type.fields[name] ?? Field()
      let isMerging = field.declared?.mergesMembers ?? false
      for kind in try transaction.kinds(of: name, in: record.id) where kind != .map || !isMerging {
        field.kinds[kind, default: 0] += 1
        for value in try transaction.values(of: name, in: record.id, as: kind) {
          field.values[value.kindText, default: 0] += 1
        }
      }
      type.fields[name] = field
    }
    types[record.type] = type
  }
}

extension ReadTransaction {
  /// The values that a field has in one of its kinds.
  fileprivate func values(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [Value] {
    switch kind {
    case .register: [try value(of: field, in: record)].compactMap(\.self)
    case .counter: [try counter(field, of: record)?.value].compactMap(\.self)
    case .set: Array(try elements(of: field, in: record) ?? [])
    case .map: (try entries(of: field, in: record) ?? [:]).map(\.value)
    case .list: try list(field, of: record) ?? []
    case .contributions: (try contributions(of: field, in: record) ?? []).map(\.payload)
    case .text: []
    }
  }
}

extension Value {
  /// What it is, in a word or two.
  fileprivate var kindText: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    case .decimal: "decimal"
    case .string: "string"
    case .bytes: "bytes"
    case .date: "date"
    case .uuid: "uuid"
    case .reference(let reference): reference.rule == .none ? "reference" : "reference, \(reference.rule)"
    case .asset: "asset"
    case .array: "array"
    case .map: "map"
    }
  }
}

// MARK: Printing

extension FoundSchema.Field {
  /// - Parameters:
  ///   - name: its name.
  ///   - type: the fields of its type.
  fileprivate func kindsText(_ name: Name, in type: FoundSchema.RecordType) -> String {
    let found = FieldKind.allCases.filter { kinds[$0] != nil && $0 != declared?.kind }
    guard let declared else {
      let kinds = found.map { "\($0)" }.joined(separator: " and ")
      if !type.isDeclared { return kinds }
      let later = type.fields.filter { $0.value.declared?.formerNames.contains(name) ?? false }.keys.sorted()
      return kinds
        + (later.isEmpty
          ? ", not declared" : ", former name of \(Display.list(later.map(Display.name), max: 4))")
    }
    let merging = declared.mergesMembers ? ", members merge" : ""
    let others = found.map { "\($0) \(Display.count(kinds[$0] ?? 0))" }.joined(separator: ", ")
    return "\(declared.kind)\(merging)" + (others.isEmpty ? "" : ", also \(others)")
  }

  /// In how many records the field is: a declared one in its kind.
  fileprivate var recordCount: Int { declared.map { kinds[$0.kind] ?? 0 } ?? kinds.values.max() ?? 0 }

  fileprivate var valuesText: String {
    values.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
      .joined(separator: ", ")
  }
}

extension FoundSchema.Field {
  fileprivate var declaredJSON: JSON? {
    guard let declared else { return nil }
    return .object([
      "kind": .text(declared.kind.name), "mergesMembers": .bool(declared.mergesMembers),
      "formerNames": .array(declared.formerNames.map { .text($0) }),
    ])
  }
}

extension FoundSchema.RecordType {
  fileprivate func print(_ name: Name, _ indexes: [IndexInformation], _ output: Output) throws {
    let count = "\(recordCount) record\(recordCount == 1 ? "" : "s")"
    try output.line("\(Display.name(name))  \(output.styled(count, .quiet))")
    var columns = Columns(output, indent: 2)
    for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
      try columns.add([
        .init(Display.name(name)), .init(field.kindsText(name, in: self)),
        .init("\(field.recordCount)", right: true),
        .init(field.valuesText, .quiet),
      ])
    }
    for index in indexes {
      try columns.add([
        .init(Display.name(index.definition.name)), .init(index.isBuilt ? "index" : "index, not built yet"),
      ])
    }
    try columns.flush()
  }

  /// `{"fields":{"name":{"kinds":{"register":2},"values":{"string":2}}},"indexes":[…],"records":2,"type":"…"}`;
  /// a declared field has `"declared":{"formerNames":[…],"kind":"list","mergesMembers":true}` too.
  fileprivate func json(_ name: Name, _ indexes: [IndexInformation]) -> JSON {
    .object([
      "type": .text(name), "records": .number(recordCount),
      "fields": .object(
        Dictionary(
          uniqueKeysWithValues: fields.map { name, field in
            (
              name,
              .members([
                "declared": field.declaredJSON,
                "kinds": .object(
                  Dictionary(uniqueKeysWithValues: field.kinds.map { (Name("\($0.key)"), .number($0.value)) })
                ),
                "values": .object(
                  Dictionary(uniqueKeysWithValues: field.values.map { (Name($0.key), .number($0.value)) })),
              ])
            )
          })),
      "indexes": .array(
        indexes.map {
          .object(["name": .text($0.definition.name), "isBuilt": .bool($0.isBuilt)])
        }),
    ])
  }
}
