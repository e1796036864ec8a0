public import OperationFormat

/// A copy of a record: its type, and the fields that have a value.
public struct Record: Sendable, Identifiable {
  public let id: RecordID
  public let type: Name
  /// The fields that have a value, in no order. They are few, so a linear search costs less than hashing
  /// their names.
  let entries: [Entry]

  package struct Entry: Sendable {
    let name: Name
    let value: Value
  }

  public init(id: RecordID, type: Name, fields: [Name: Value]) {
    self.init(id: id, type: type, entries: fields.map { Entry(name: $0.key, value: $0.value) })
  }

  init(id: RecordID, type: Name, entries: [Entry]) {
    self.id = id
    self.type = type
    self.entries = entries
  }

  /// The fields by name, in a new dictionary at each call. A field that was cleared is absent.
  ///
  /// - Complexity: linear in the fields.
  public var fields: [Name: Value] {
    Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.value) })
  }

  /// The value of a field, nil if it has none.
  ///
  /// - Complexity: linear in the fields.
  public subscript(field: Name) -> Value? { entries.first { $0.name == field }?.value }
}

extension Record: Hashable {
  /// Says whether two records have the same name, type and fields.
  public static func == (a: Record, b: Record) -> Bool {
    a.id == b.id && a.type == b.type && a.entries.count == b.entries.count
      && a.entries.allSatisfy { b[$0.name] == $0.value }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(type)
    // The order of the fields must not matter.
    hasher.combine(
      entries.reduce(0) { sum, entry in
        var hasher = Hasher()
        hasher.combine(entry.name)
        hasher.combine(entry.value)
        return sum ^ hasher.finalize()
      })
  }
}
