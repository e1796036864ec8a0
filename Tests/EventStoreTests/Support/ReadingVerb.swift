import OperationFormat

@testable import EventStore

/// One public verb of ``RecordReading``, by its full name, with calls that show what it answers.
enum ReadingVerb: String, CaseIterable, Hashable {
  case assetPolicy = "assetPolicy(of:)"
  case attachment = "attachment(of:)"
  case conflictsInZone = "conflicts(in:)"
  case conflictsOfRecord = "conflicts(of:)"
  case containsElement = "contains(_:in:of:)"
  case containsRecord = "contains(_:)"
  case contributions = "contributions(of:in:)"
  case count = "count(of:in:as:)"
  case countOfQuery = "count(_:)"
  case counter = "counter(_:of:)"
  case current = "current(_:)"
  case digest = "digest(of:)"
  case element = "element(at:of:in:)"
  case elements = "elements(of:in:)"
  case entries = "entries(of:in:)"
  case existence = "existence(of:)"
  case exists = "exists(_:)"
  case explain = "explain(_:)"
  case existencePolicy = "existencePolicy(of:)"
  case fields = "fields(of:)"
  case forEachConflict = "forEachConflict(in:_:)"
  case forEachForwarding = "forEachForwarding(in:_:)"
  case forEachHiddenRecord = "forEachHiddenRecord(in:_:)"
  case forEachRecord = "forEachRecord(in:type:after:_:)"
  case forEachRecordOfType = "forEachRecord(ofType:_:)"
  case forwardings = "forwardings(in:)"
  case heads = "heads(of:in:as:)"
  case hiddenRecords = "hiddenRecords(in:)"
  case duplicates = "duplicates(in:)"
  case hits = "hits(_:)"
  case holders = "holders(of:in:)"
  case items = "items(of:in:)"
  case list = "list(_:of:)"
  case missingTarget = "missingTarget(of:)"
  case place = "place(of:)"
  case record = "record(_:)"
  case records = "records(in:type:)"
  case recordsNotCreated = "recordsNotCreated(in:)"
  case scan = "scan(_:type:after:_:)"
  case survivingSources = "survivingSources(in:)"
  case text = "text(of:in:)"
  case textInRange = "text(in:of:in:)"
  case textRuns = "textRuns(of:in:)"
  case valueAtKey = "value(at:of:in:)"
  case valueOfField = "value(of:in:)"
  case valuesOfQuery = "values(of:_:)"
  case withRecord = "withRecord(_:_:)"
  case zones = "zones()"
  case zonesOfAttachment = "zones(_:)"

  private static let queries = [
    RecordQuery(types: ["note"], order: [QueryOrder(.value(of: "title"), isDescending: true)], limit: 5),
    RecordQuery(
      condition: .any([
        .compare(.value(of: "title"), .greater, "B"), .contains(QueryField(.field("tags", .set)), "red"),
        .compare(QueryField(.field("likes", .counter), fallback: 0), .less, 5),
      ]), order: [QueryOrder(QueryField(.field("title", .register), path: ["parent"]))]),
    RecordQuery(zones: [noteZone], condition: .text(.value(of: "title"), .contains, "M")),
  ]

  /// What one call answers: a value or an error. Unchecked, because ``answer(_:)`` puts only sendable values into it.
  enum Answer: Hashable, @unchecked Sendable {
    case value(AnyHashable)
    case error(String)
  }

  /// What the calls are about.
  struct Subject {
    var zones: [ZoneID]
    var records: [RecordID]
    var fields: [Name]
  }

  /// Calls the verb for each of the zones, records and fields that it takes.
  func answers(
    about subject: Subject, in tx: borrowing some RecordReading & ~Copyable
  ) throws -> [Answer] {
    switch self {
    case .zones: try [answer { try tx.zones() }]
    case .zonesOfAttachment:
      try [ZoneAttachment.local, .attached, .offered, .deleting].map { attachment in
        try answer { try tx.zones(attachment) }
      }
    case .existencePolicy: try [answer { try tx.existencePolicy(of: "note") }]
    case .countOfQuery: try Self.queries.map { query in try answer { try tx.count(query) } }
    case .exists: try Self.queries.map { query in try answer { try tx.exists(query) } }
    case .explain: try Self.queries.map { query in try answer { try tx.explain(query) } }
    case .duplicates: try ["titles", "none"].map { index in try answer { try tx.duplicates(in: index) } }
    case .hits: try Self.queries.map { query in try answer { try tx.hits(query) } }
    case .valuesOfQuery:
      try Self.queries.map { query in try answer { try tx.values(of: .value(of: "title"), query) } }
    case .forEachRecordOfType:
      try [
        answer {
          try collecting { found in
            try tx.forEachRecord(ofType: "note") {
              found.append($0)
              return found.count < 3
            }
          }
        }
      ]
    case .assetPolicy, .attachment, .conflictsInZone, .digest, .forEachConflict, .forEachForwarding,
      .forEachHiddenRecord, .forEachRecord, .forwardings, .hiddenRecords, .records, .recordsNotCreated, .scan,
      .survivingSources:
      try subject.zones.flatMap { try zoneAnswers($0, tx) }
    case .conflictsOfRecord, .containsRecord, .current, .existence, .fields, .holders, .missingTarget, .place,
      .record, .withRecord:
      try subject.records.flatMap { try recordAnswers($0, subject.zones, tx) }
    case .containsElement, .contributions, .count, .counter, .element, .elements, .entries, .heads, .items,
      .list,
      .text,
      .textInRange, .textRuns, .valueAtKey, .valueOfField:
      try subject.records.flatMap { record in
        try subject.fields.flatMap { try fieldAnswers($0, record, tx) }
      }
    }
  }

  private func zoneAnswers(
    _ zone: ZoneID, _ tx: borrowing some RecordReading & ~Copyable
  ) throws -> [Answer] {
    switch self {
    case .assetPolicy: try [answer { try tx.assetPolicy(of: zone) }]
    case .attachment: try [answer { try tx.attachment(of: zone) }]
    case .conflictsInZone: try [answer { try tx.conflicts(in: zone) }]
    case .digest: try [answer { try tx.digest(of: zone) }]
    case .forEachConflict:
      try [
        answer {
          try collecting { found in
            try tx.forEachConflict(in: zone) {
              found.append($0)
              return found.count < 2
            }
          }
        }
      ]
    case .forEachForwarding:
      try [
        answer {
          try collecting { found in
            try tx.forEachForwarding(in: zone) {
              found.append($0)
              return true
            }
          }
        }
      ]
    case .forwardings: try [answer { try tx.forwardings(in: zone) }]
    case .forEachHiddenRecord:
      try [
        answer {
          try collecting { found in
            try tx.forEachHiddenRecord(in: zone) {
              found.append($0)
              return true
            }
          }
        }
      ]
    case .forEachRecord:
      try [
        answer {
          try collecting { found in
            try tx.forEachRecord(in: zone, after: "a") {
              found.append($0)
              return found.count < 4
            }
          }
        }
      ]
    case .hiddenRecords: try [answer { try tx.hiddenRecords(in: zone) }]
    case .recordsNotCreated: try [answer { try tx.recordsNotCreated(in: zone) }]
    case .records:
      try [answer { try tx.records(in: zone) }, answer { try tx.records(in: zone, type: "memo") }]
    case .scan:
      try [
        answer {
          try collecting { found in
            try tx.scan(zone, type: "note") { view in
              // A verb may be called while another one runs.
              found.append(try tx.contains(view.id) ? try view.record() : nil)
              return true
            }
          }
        }
      ]
    case .survivingSources: try [answer { try tx.survivingSources(in: zone) }]
    default: []
    }
  }

  private func recordAnswers(
    _ record: RecordID, _ zones: [ZoneID], _ tx: borrowing some RecordReading & ~Copyable
  ) throws -> [Answer] {
    switch self {
    case .conflictsOfRecord: try [answer { try tx.conflicts(of: record) }]
    case .containsRecord: try [answer { try tx.contains(record) }]
    case .current: try [answer { try tx.current(record) }]
    case .existence: try [answer { try tx.existence(of: record) }]
    case .fields: try [answer { try tx.fields(of: record) }]
    case .holders:
      try [answer { try tx.holders(of: record) }]
        + zones.map { zone in try answer { try tx.holders(of: record, in: zone) } }
    case .missingTarget: try [answer { try tx.missingTarget(of: record) }]
    case .place: try [answer { try tx.place(of: record) }]
    case .record: try [answer { try tx.record(record) }]
    case .withRecord:
      try [
        answer { try tx.withRecord(record) { try $0.type } },
        answer { try tx.withRecord(record) { try $0.record() } },
      ]
    default: []
    }
  }

  private func fieldAnswers(
    _ field: Name, _ record: RecordID, _ tx: borrowing some RecordReading & ~Copyable
  ) throws -> [Answer] {
    switch self {
    case .containsElement: try [answer { try tx.contains("red", in: field, of: record) }]
    case .contributions: try [answer { try tx.contributions(of: field, in: record) }]
    case .count:
      try FieldKind.allCases.map { kind in try answer { try tx.count(of: field, in: record, as: kind) } }
    case .counter: try [answer { try tx.counter(field, of: record) }]
    case .element:
      try (0..<3).map { index in try answer { try tx.element(at: index, of: field, in: record) } }
    case .elements: try [answer { try tx.elements(of: field, in: record) }]
    case .entries: try [answer { try tx.entries(of: field, in: record) }]
    case .heads:
      try FieldKind.allCases.map { kind in try answer { try tx.heads(of: field, in: record, as: kind) } }
    case .items: try [answer { try tx.items(of: field, in: record) }]
    case .list: try [answer { try tx.list(field, of: record) }]
    case .text: try [answer { try tx.text(of: field, in: record) }]
    case .textInRange: try [answer { try tx.text(in: 1..<4, of: field, in: record) }]
    case .textRuns: try [answer { try tx.textRuns(of: field, in: record) }]
    case .valueAtKey: try [answer { try tx.value(at: "k", of: field, in: record) }]
    case .valueOfField: try [answer { try tx.value(of: field, in: record) }]
    default: []
    }
  }
}

private func answer<R: Hashable & Sendable>(_ call: () throws -> R) throws -> ReadingVerb.Answer {
  do {
    return .value(AnyHashable(try call()))
  } catch let error as StoreError {
    return .error("\(error.code)")
  }
}

private func collecting<Element>(_ call: (inout [Element]) throws -> Void) rethrows -> [Element] {
  var found: [Element] = []
  try call(&found)
  return found
}
