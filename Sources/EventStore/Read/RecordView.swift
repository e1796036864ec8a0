public import OperationFormat

/// A visible record in the memory map. Only the fields that you read are copied.
///
/// It is valid until the closure that got it returns. To keep the record, make a copy with ``record()``.
public struct RecordView: ~Copyable, ~Escapable {
  let row: StoredRow
  private let state: StateNumber
  private let nameBytes: RawSpan
  private let zoneIndex: Int
  private let typeNumber: NameNumber
  /// Where the fields begin in the row, or a cell before them.
  private let fields: FieldStart
  /// The transaction keeps it alive: counting references would cost more than most reads.
  private let readView: Unmanaged<ReadView>

  /// Nil if the row's record is not visible.
  @_lifetime(copy row, copy name)
  init?(_ row: StoredRow, name: RawSpan, zone: Int, _ state: StateNumber, _ readView: ReadView) throws {
    guard let (type, fields) = try readView.visible(row, state) else { return nil }
    self.row = row
    self.state = state
    self.nameBytes = name
    self.zoneIndex = zone
    self.typeNumber = type
    self.fields = fields
    self.readView = .passUnretained(readView)
  }

  /// The record's identity.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var id: RecordID {
    get throws {
      let name = try Name(utf8: nameBytes)
      return RecordID(zone: readView._withUnsafeGuaranteedRef { $0.zone(at: zoneIndex).id }, name: name)
    }
  }

  /// The record's zone.
  var zone: ZoneID { readView._withUnsafeGuaranteedRef { $0.zone(at: zoneIndex).id } }

  /// The record's name, in the memory map.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var name: UTF8Span {
    @_lifetime(copy self)
    get throws { try Name.text(in: nameBytes) }
  }

  /// The record's type.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var type: Name { get throws { try readView._withUnsafeGuaranteedRef { try $0.name(typeNumber) } } }

  func isOf(_ type: NameNumber) -> Bool { typeNumber == type }

  /// Notes in the footprint of the read that the record was read.
  func noteRead() {
    readView._withUnsafeGuaranteedRef { $0.footprint?.note(record: TableKey.record(state, nameBytes).span) }
  }

  /// The value of a field; nil if it has none.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public func value(of field: Name) throws -> Value? {
    try readView._withUnsafeGuaranteedRef { readView in
      guard let number = try readView.number(of: field) else { return nil }
      return try readView.value(of: number, in: row, from: fields, state)
    }
  }

  /// The value of a field's register, whatever other kinds the field has; nil if it has none.
  package func register(_ field: Name) throws -> Value? {
    try readView._withUnsafeGuaranteedRef { readView in
      guard let number = try readView.number(of: field) else { return nil }
      return try readView.value(of: CellNumber(register: number), in: row, from: fields, state)
    }
  }

  /// The string of a field, in the memory map; nil if the field has no value, or one of another kind.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  @_lifetime(copy self)
  public func text(of field: Name) throws -> UTF8Span? {
    guard let number = try readView._withUnsafeGuaranteedRef({ try $0.number(of: field) }) else { return nil }
    let cell = CellNumber(register: number)
    guard let winner = try row.winner(of: cell, from: fields) else { return nil }
    guard let apart = winner.apart else { return try Value.text(in: row.extracting(winner.payload)) }
    let element = try readView.takeUnretainedValue().element(of: cell, apart, in: row, state)
    let payload = element.extracting(try OwnedHead.payload(inApart: element))
    // It is in the memory map of the same transaction as the row.
    return try Value.text(in: _overrideLifetime(payload, copying: self))
  }

  /// The bytes of the text of a register, in the record's row; nil if it has none there, or one of 128 bytes
  /// or more.
  @_lifetime(copy self)
  func plainText(of register: CellNumber) throws -> RawSpan? {
    guard let winner = try row.winner(of: register, from: fields), winner.apart == nil else { return nil }
    return Value.shortTextBytes(in: row.extracting(winner.payload))
  }

  /// Who created the record and changed it last, and when.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public var system: SystemFields {
    get throws {
      try readView._withUnsafeGuaranteedRef { try $0.system(of: row, state, inZoneAt: zoneIndex) }
    }
  }

  /// A copy of the record.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public func record() throws -> Record {
    let id = try id
    return try readView._withUnsafeGuaranteedRef { readView in
      try readView.record(id, typeNumber, in: row, from: fields, state)
    }
  }
}
