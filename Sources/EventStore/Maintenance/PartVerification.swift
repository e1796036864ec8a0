import LMDB
import OperationFormat

/// Verifies what depends on how the log was folded: which rows of records are in parts, and which cells have
/// an index of their heads.
struct PartVerification {
  private(set) var report: VerificationReport

  init(_ report: VerificationReport) { self.report = report }

  /// Each part belongs to a record that has parts, and each index holds the heads that are stored apart.
  mutating func check(_ source: borrowing ReadTransaction, _ live: Set<UInt32>) throws {
    var divided: Set<[UInt8]> = []
    var wide: Set<[UInt8]> = []
    for state in live.sorted() {
      let state = StateNumber(rawValue: state)
      try source.readView.forEachStoredRow(in: state, after: nil) { name, row in
        guard row.isWideBase || row.isDividedBase, let number = try? row.recordNumber() else { return true }
        let owner = Self.owner(ElementKey(state: state, record: number, cell: .existence))
        if row.isWideBase { wide.insert(owner) } else { divided.insert(owner) }
        let creation = try? RecordRow.place(of: .creation, in: row.bytes)
        if row.isWideBase, let creation, creation.entry.upperBound < row.bytes.byteCount {
          report.add(.record, "\(name.bytes)", "the row has fields in it and in blocks")
        }
        return true
      }
    }
    var cursor = try source.transaction.openCursor(source.tables.elements)
    var isThere = try cursor.first()
    while isThere {
      let (key, row) = cursor.withEntry { (ElementKey(bytes: $0.bytes), $1.bytes) }
      if key.bytes.count >= 4, live.contains(try key.bytes.span.bytes.bigEndian32(at: 0)) {
        let owner = Self.owner(key)
        switch key.kind {
        case .registers where !divided.contains(owner), .block where !wide.contains(owner):
          report.add(.record, "\(key.bytes)", "the part belongs to no record that has parts")
        case .apartOrder:
          if let problem = Self.problem(ofOrder: key, row, source) {
            report.add(.record, "\(key.bytes)", problem)
          }
        case .apartIndex:
          if (try? ApartIndex(row.span.bytes)) == nil {
            report.add(.record, "\(key.bytes)", "the index of heads cannot be read")
          }
        default: break
        }
      }
      isThere = try cursor.next()
    }
  }

  /// State and record of an element.
  private static func owner(_ key: ElementKey) -> [UInt8] { Array(key.bytes.prefix(8)) }

  /// What is wrong with a head in the order of heads: there must be one with its timestamp.
  private static func problem(
    ofOrder key: ElementKey, _ row: [UInt8], _ source: borrowing ReadTransaction
  ) -> String? {
    do {
      var reader = ByteReader(row.span.bytes)
      let head = try key.orderedHead(by: ReplicaNumber(rawValue: try reader.readUInt32Varint("head.replica")))
      let isThere = try key.orderedCell().keys(head.id).contains {
        try source.readView.withElement($0) { try ApartRow($0).greatest(by: source.readView) == head }
          ?? false
      }
      return isThere ? nil : "no row of heads that are stored apart has it as its greatest"
    } catch {
      return "\(StoreError.translate(error))"
    }
  }
}
