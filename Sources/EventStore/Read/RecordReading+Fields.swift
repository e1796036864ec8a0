public import OperationFormat

/// Fields of each kind. A verb that returns a whole field returns nil if the record does not exist or the
/// field is empty.
extension RecordReading where Self: ~Copyable {
  /// The kinds in which a field has anything.
  package func kinds(of field: Name, in record: RecordID) throws -> [FieldKind] {
    try FieldKind.allCases.filter { kind in
      switch kind {
      // Also one whose reference is nullified.
      case .register: try !heads(of: field, in: record).isEmpty
      case .counter: try counter(field, of: record).map { $0.value != .int(0) || $0.isClamped } ?? false
      case .set, .map, .list, .text, .contributions: try count(of: field, in: record, as: kind) > 0
      }
    }
  }

  /// The sum of a counter; nil if the record does not exist, or nothing was added.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(log n) in the addends.
  public func counter(_ field: Name, of record: RecordID) throws -> Counter? {
    try reader.counter(field, of: record)
  }

  /// How many elements a set, a map or a list has, Unicode scalars a text, or contributions there are; 0 if
  /// the record does not exist.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the fields.
  public func count(of field: Name, in record: RecordID, as kind: FieldKind) throws -> Int {
    try reader.count(of: field, in: record, as: kind)
  }

  // MARK: Sets and maps

  /// The elements of a set; nil if the record does not exist, or the set is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the elements.
  public func elements(of field: Name, in record: RecordID) throws -> Set<Value>? {
    try reader.elements(of: field, in: record)
  }

  /// Whether a set has an element; false if the record does not exist.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `valueInvalid` for what cannot be an element.
  /// - Complexity: O(log n) in the elements.
  public func contains(_ element: Value, in field: Name, of record: RecordID) throws -> Bool {
    try reader.contains(element, in: field, of: record)
  }

  /// The values of a map by their keys; nil if the record does not exist, or the map is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the keys.
  public func entries(of field: Name, in record: RecordID) throws -> [Name: Value]? {
    try reader.entries(of: field, in: record)
  }

  /// The value at a key of a map; nil if the record does not exist, or the map has no such key.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(log n) in the keys.
  public func value(at key: Name, of field: Name, in record: RecordID) throws -> Value? {
    try reader.value(at: key, of: field, in: record)
  }

  // MARK: Lists and texts

  /// The values of a list in their order; nil if the record does not exist, or the list is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what was ever inserted.
  public func list(_ field: Name, of record: RecordID) throws -> [Value]? {
    try reader.list(field, of: record)
  }

  /// The elements of a list in their order, each with its identity; nil if the record does not exist, or the
  /// list is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what was ever inserted.
  public func items(of field: Name, in record: RecordID) throws -> [ListItem]? {
    try reader.items(of: field, in: record)
  }

  /// The value at an index of a list; nil if the record does not exist, or the list is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `indexInvalid`.
  /// - Complexity: O(log n) in what was ever inserted.
  public func element(at index: Int, of field: Name, in record: RecordID) throws -> Value? {
    try reader.element(at: index, of: field, in: record)
  }

  /// A text; nil if the record does not exist, or the text is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the text, and in the runs that were ever inserted.
  public func text(of field: Name, in record: RecordID) throws -> String? {
    try reader.text(of: field, in: record)
  }

  /// A part of a text, by a range of Unicode scalars; nil if the record does not exist, or the text is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `indexInvalid`.
  /// - Complexity: O(log n) in the text, and linear in the part.
  public func text(in range: Range<Int>, of field: Name, in record: RecordID) throws -> String? {
    try reader.text(in: range, of: field, in: record)
  }

  /// A text in its order, in runs: one operation has inserted all of a run. The record need not exist any
  /// more.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the text.
  public func textRuns(of field: Name, in record: RecordID) throws -> [TextRun] {
    try reader.withAnyCell(.text, of: field, in: record) { try TextKind.runs(of: $0) } ?? []
  }

  /// The parts of a list or a text in their order, hidden ones too. The record need not exist any more.
  package func parts(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [UnitOrderPart] {
    try reader.parts(of: field, in: record, as: kind)
  }

  // MARK: Contributions

  /// The contributions to a field, in the order of ``ContributionReducer``; nil if the record does not exist,
  /// or nothing was contributed.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(n log n) in the contributions.
  public func contributions(of field: Name, in record: RecordID) throws -> [Contribution]? {
    try reader.withCell(.contributions, of: field, in: record) { try ContributionCell($0).contributions() }
  }
}
