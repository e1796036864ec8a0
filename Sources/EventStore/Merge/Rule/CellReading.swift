import OperationFormat

/// What reading cells in the app's terms needs besides their rows.
protocol CellReading: RowReading {
  associatedtype Sight: ContributionSight

  /// The name of a type or a field.
  func name(_ number: NameNumber) throws -> Name
  /// The zone whose records are in a state.
  func zone(of state: StateNumber) throws -> ZoneID
  /// What a value reads in the record whose row it is: nil for a reference that is nullified, null for one
  /// inside.
  func shown(_ value: Value, in row: StoredRow, _ state: StateNumber) throws -> Value?
  /// What transactions of the state's zone have seen of each other.
  func sight(in state: StateNumber) throws -> Sight
}

extension CellReading {
  /// A unit of a list or a text, by the identity of its maker.
  func reference(_ unit: UnitID) throws -> UnitReference {
    UnitReference(
      maker: UnitMaker(replica: try replicaID(unit.replica), epoch: unit.epoch), number: unit.number)
  }

  /// A value of a row with its references as this store's user sees them.
  @inline(__always)
  func seen(_ value: Value, in state: StateNumber) throws -> Value {
    value.mayNameRecords ? value.seen(inLogOf: try zone(of: state)) : value
  }
}

/// A cell in a row of its record, with what its kind needs to read it.
struct CellReader<Rows: CellReading>: ~Escapable {
  let rows: Rows
  let state: StateNumber
  let cell: CellNumber
  /// A row that has the cell.
  let row: StoredRow

  @_lifetime(copy row)
  init(_ cell: CellNumber, in row: StoredRow, _ state: StateNumber, _ rows: Rows) {
    (self.rows, self.state, self.cell) = (rows, state, cell)
    self.row = row
  }

  /// The record's number in its state.
  var record: UInt32 { get throws(FormatError) { try row.recordNumber() } }

  /// What the row has of a cell that is not of heads; empty if it has nothing.
  var body: RawSpan {
    @_lifetime(copy self)
    get throws(FormatError) { try row.content(of: cell) }
  }

  /// The heads in the row: see ``StoredRow/heads(of:)``.
  func inlineHeads() throws(FormatError) -> InlineHeads { try row.heads(of: cell) }

  /// All heads of the cell, greatest first, with their whole payloads.
  func heads() throws -> [OwnedHead] { try rows.heads(of: cell, in: row, state) }

  /// What a value reads here: see ``CellReading/shown(_:in:_:)``.
  func shown(_ value: Value) throws -> Value? { try rows.shown(value, in: row, state) }

  /// A head in public terms.
  ///
  /// - Parameter content: what it says, as its bytes say it.
  func head(_ owned: OwnedHead, _ content: CellHead.Content) throws -> CellHead {
    let id = owned.head.id
    let transaction = TransactionID(
      replica: try rows.replicaID(id.replica), epoch: id.epoch, sequence: id.sequence)
    return CellHead(
      operation: OperationID(transaction: transaction, index: id.index), timestamp: owned.head.timestamp,
      content: content.mayNameRecords ? content.seen(inLogOf: try rows.zone(of: state)) : content)
  }
}
