import LMDB
import OperationFormat

/// What a fold of the past depends on besides the entries of the log. If it is another now, the past is folded again.
struct PastOrigin: Hashable, Sendable {
  let identity: StoreIdentity
  /// How often something before the log's end became another: see ``MetaName/rewrites``.
  let rewrites: UInt64
  /// The definitions of the indexes, under their numbers, as rows, and the policies of existence.
  let indexes: [UInt8]
  /// How many commits had done more than to append local transactions.
  let others: UInt64
  /// The zones, and the states into which they are folded. Some may come.
  let zones: [ZoneNumber: StateNumber]

  init(_ source: borrowing ReadTransaction) throws {
    identity = source.identity
    rewrites = try source.readView.meta.rewrites()
    others = try source.readView.meta.otherCommits()
    var writer = ByteWriter()
    for index in try source.readView.pastIndexes() {
      writer.append(varint: UInt64(index.number))
      try index.append(to: &writer)
    }
    for (type, policy) in try source.readView.meta.policies().sorted(by: { $0.key < $1.key }) {
      writer.append(varint: UInt64(type.rawValue))
      writer.append(policy.rawValue)
    }
    indexes = writer.bytes
    var zones: [ZoneNumber: StateNumber] = [:]
    for (number, row) in try source.readView.zones.rows() where row.state != .none {
      zones[number] = row.state
    }
    self.zones = zones
  }

  /// Whether what was folded then counts for what there is now.
  func counts(for now: PastOrigin) -> Bool {
    identity == now.identity && rewrites == now.rewrites && indexes == now.indexes
      && zones.allSatisfy { now.zones[$0] == $1 }
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version, 1 |
  // | as in meta | identity |
  // | varints | rewrites, others |
  // | varint, counted | indexes |
  // | rest | for each zone its number and its state, varints |

  func append(to writer: inout ByteWriter) {
    writer.append(1)
    identity.append(to: &writer)
    writer.append(varint: rewrites)
    writer.append(varint: others)
    writer.append(count: indexes.count)
    writer.append(indexes)
    for (zone, state) in zones.sorted(by: { $0.key < $1.key }) {
      writer.append(varint: UInt64(zone.rawValue))
      writer.append(varint: UInt64(state.rawValue))
    }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    try reader.expectVersion("past")
    identity = try StoreIdentity(from: &reader)
    rewrites = try reader.readVarint("past.rewrites")
    others = try reader.readVarint("past.others")
    let count = try reader.readCount("past.indexes")
    indexes = reader.bytes(in: try reader.readBytes(count, "past.indexes")).bytes
    var zones: [ZoneNumber: StateNumber] = [:]
    while reader.remaining > 0 {
      let zone = ZoneNumber(rawValue: try reader.readUInt32Varint("past.zone"))
      zones[zone] = StateNumber(rawValue: try reader.readUInt32Varint("past.state"))
    }
    self.zones = zones
  }
}

extension ReadView {
  /// The indexes that the past has: those of the store that are not removed. They are built there with each fold.
  func pastIndexes() throws -> [StoredIndex] {
    try indexes.all().filter { $0.status != .removed }.map { index in
      var index = StoredIndex(index.number, index.definition)
      index.status = .built
      return index
    }
  }
}
