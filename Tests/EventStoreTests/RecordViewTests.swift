import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Views of records")
struct RecordViewTests {
  let directory = TemporaryDirectory()

  /// A record with everything that a row can have, and other records around it.
  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.makeAttachedZone(noteZone, testIncarnation)
    var remote = TestRemote()
    try await store.write { tx in
      try tx.create(
        note("b"), type: "note",
        fields: [
          "title": "plain", "body": .string(String(repeating: "long ", count: 400)), "place": "Zürich",
          "done": true, "count": -3, "gone": "soon", "contested": "mine",
        ])
      try tx.clear("gone", of: note("b"))
      try tx.create(note("a"), type: "task", fields: ["title": ""])
      try tx.create(note("c"), type: "note")
      try tx.create(note("d"), type: "note", fields: ["title": "dead"])
      try tx.delete(note("d"))
    }
    let theirs = try remote.append([
      transaction(
        0xB, 1, at: 1, [create("b"), .set(record: "b", type: "note", field: "contested", value: "theirs")])
    ])
    _ = try await store.ingest([theirs])
    return store
  }

  @Test("read the same as copies")
  func areTheRecords() async throws {
    let store = try await makeStore()
    try checkViews(store)
    try store.read { tx in
      let found = try tx.withRecord(note("b")) { view in
        let id = try view.id
        let type = try view.type
        #expect(id == note("b") && type == "note")
        let long = try text(of: "body", in: view)
        #expect(long == String(repeating: "long ", count: 400))
        let place = try text(of: "place", in: view)
        #expect(place == "Zürich")
        let others = try [text(of: "done", in: view), text(of: "gone", in: view), text(of: "none", in: view)]
        #expect(others == [nil, nil, nil])
        let values = try [view.value(of: "count"), view.value(of: "gone"), view.value(of: "none")]
        #expect(values == [-3, nil, nil])
        return try view.record().fields.count
      }
      #expect(found == 6)
      let missing = try (tx.withRecord(note("d")) { _ in 1 }, tx.withRecord(note("none")) { _ in 1 })
      #expect(missing == (nil, nil))
    }
  }

  @Test("are scanned by type, from a name on, until the closure ends it")
  func scans() async throws {
    let store = try await makeStore()
    func names(type: Name? = nil, after name: Name? = nil, max: Int = .max) throws -> [Name] {
      var names: [Name] = []
      try store.read { tx in
        try tx.scan(noteZone, type: type, after: name) { view in
          names.append(try view.id.name)
          return names.count < max
        }
      }
      return names
    }
    let all = try names()
    #expect(all == ["a", "b", "c"])
    let notes = try names(type: "note")
    #expect(notes == ["b", "c"])
    let unknown = try names(type: "unknown")
    #expect(unknown == [])
    let rest = try (names(after: "a"), names(after: "aa"), names(after: "c"), names(max: 2))
    #expect(rest == (["b", "c"], ["b", "c"], [], ["a", "b"]))
    #expect(code { try store.read { try $0.scan(ZoneID(name: "none")) { _ in true } } } == .zoneUnknown)
  }

  @Test("a damaged row is a typed error or a value; nothing traps")
  func damaged() async throws {
    let store = try await makeStore()
    let rows = try store.rows(\.records)
    let row = try #require(rows.max { $0.value.count < $1.value.count })
    var read = 0
    for count in 0..<row.value.count {
      try store.overwrite(row.key, Array(row.value[..<count]), in: \.records)
      read += readAll(store)
    }
    for offset in row.value.indices {
      for byte in [0, 1, 0x7f, 0x80, 0xff, row.value[offset] ^ 1] as [UInt8] {
        var changed = row.value
        changed[offset] = byte
        try store.overwrite(row.key, changed, in: \.records)
        read += readAll(store)
      }
    }
    #expect(read > 100)
    try store.overwrite(row.key, row.value, in: \.records)
    try checkViews(store)
  }

  /// Reads all records, and each field of each record. Returns 1 if that succeeds, 0 after an error.
  private func readAll(_ store: LocalStore) -> Int {
    let failure = code {
      try store.read { tx in
        try tx.scan(noteZone) { view in
          for field in ["title", "body", "place", "done", "count", "gone", "contested"] as [Name] {
            let found = try (view.value(of: field), text(of: field, in: view))
            if let text = found.1 { #expect(found.0 == .string(text)) }
          }
          _ = try view.record().fields
          return true
        }
      }
    }
    #expect([nil, .damaged, .newerFormat].contains(failure))
    return failure == nil ? 1 : 0
  }
}

private func text(of field: Name, in view: borrowing RecordView) throws -> String? {
  guard let text = try view.text(of: field) else { return nil }
  return String(copying: text)
}

/// A scan gives the records, and agrees with their greatest heads.
func checkViews(_ store: LocalStore, sourceLocation: SourceLocation = #_sourceLocation) throws {
  try store.read { tx in
    for zone in try tx.zones() {
      var found: [Record] = []
      try tx.scan(zone) { view in
        let record = try view.record()
        let id = try view.id
        let type = try view.type
        #expect(record.id == id && record.type == type, sourceLocation: sourceLocation)
        for (field, value) in record.fields {
          let seen = try view.value(of: field)
          #expect(seen == value, sourceLocation: sourceLocation)
          let text = try text(of: field, in: view)
          // A text that merges is stored in pieces.
          let isRegister = try !tx.heads(of: field, in: id).allSatisfy { $0.content == .value(.null) }
          if isRegister, case .string(let string) = value {
            #expect(text == string, sourceLocation: sourceLocation)
          } else {
            #expect(text == nil, sourceLocation: sourceLocation)
          }
        }
        found.append(record)
        return true
      }
      var wanted: [Record] = []
      for name in try tx.allRecordNames(in: zone) {
        let id = RecordID(zone: zone, name: name)
        guard try tx.contains(id) else { continue }
        var heads = RecordHeads(name: name, existence: [], fields: [])
        for field in try tx.fields(of: id) {
          for kind in FieldKind.allCases {
            let found = try tx.heads(of: field, in: id, as: kind)
            let parts = try kind == .list || kind == .text ? tx.parts(of: field, in: id, as: kind) : []
            if found.isEmpty && parts.isEmpty { continue }
            let payloads = try kind == .contributions ? tx.contributions(of: field, in: id) : nil
            heads.fields.append(
              RecordHeads.Field(
                name: field, kind: kind, heads: found, parts: parts,
                payloads: payloads?.map(\.payload) ?? []))
          }
        }
        var fields = heads.values { value in
          shown(value, isInside: false) { reference in
            let target = reference.target(from: zone)
            guard target.zone == zone, let place = try? tx.place(of: target) else { return true }
            if case .nowhere = place { return false }
            return true
          }
        }
        // A clamped sum is more than the oracle can hold.
        for field in try tx.fields(of: id) where fields[field] == nil {
          fields[field] = try tx.counter(field, of: id)?.value
        }
        let type = try tx.record(id)?.type ?? ""
        wanted.append(Record(id: id, type: type, fields: fields))
      }
      #expect(found == wanted, sourceLocation: sourceLocation)
    }
  }
}

/// The value as it is read; nil for a nullified reference, null inside others.
private func shown(_ value: Value, isInside: Bool, _ isThere: (Reference) -> Bool) -> Value? {
  switch value {
  case .reference(let reference) where reference.rule == .nullify && !isThere(reference):
    isInside ? .null : nil
  case .array(let elements): .array(elements.compactMap { shown($0, isInside: true, isThere) })
  case .map(let entries): .map(entries.compactMapValues { shown($0, isInside: true, isThere) })
  default: value
  }
}
