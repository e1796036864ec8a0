import LMDB
import OperationFormat

// The database token's row:
//
// | bytes | what |
// |---|---|
// | 16 | remote, big-endian |
// | varint | offset |
// | 32 | hash |

/// The rows of the store itself: its clock, policies, token of the list of zones, and unfolded kinds.
struct MetaTable<Source: TableReading>: TableView {
  let source: Source

  /// The version of the store's format; nil if the row is not there.
  func formatVersion() throws -> UInt64? {
    try transaction.withValue(of: TableKey.meta(.format).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("format")
    }
  }

  /// The last timestamp that the clock gave out or saw.
  func clock() throws -> Timestamp {
    try transaction.withValue(of: TableKey.meta(.clock).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return Timestamp(rawValue: try reader.readLittleEndian("clock", as: UInt64.self))
    } ?? Timestamp(rawValue: 0)
  }

  func policies() throws -> [NameNumber: ExistencePolicy] {
    try transaction.withValue(of: TableKey.meta(.policies).span, in: tables.meta) { row in
      var policies: [NameNumber: ExistencePolicy] = [:]
      var reader = ByteReader(row)
      while reader.remaining > 0 {
        let type = NameNumber(rawValue: try reader.readUInt32Varint("policy.type"))
        let byte = try reader.readUInt8("row")
        guard let policy = ExistencePolicy(rawValue: byte) else {
          throw FormatError(
            .unknownTag, at: reader.position, in: "policy", expected: "0 to 2", found: "\(byte)")
        }
        policies[type] = policy
      }
      return policies
    } ?? [:]
  }

  /// How far the remote's list of zones was read; nil for a store that was never synced.
  func databaseToken() throws -> DatabaseToken? {
    try transaction.withValue(of: TableKey.meta(.remote).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      let remote = RemoteID(rawValue: try reader.readBigEndian("remote", as: UInt128.self))
      let offset = try reader.readVarint("remote.offset")
      let hash = try ContentHash.read(from: &reader, "remote.hash")
      try reader.finish("remote")
      return DatabaseToken(remote: remote, offset: offset, hash: hash)
    }
  }

  /// The last number that a state got; 0 if that was not noted.
  func lastState() throws -> StateNumber {
    try transaction.withValue(of: TableKey.meta(.states).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return StateNumber(rawValue: try reader.readUInt32Varint("states"))
    } ?? .none
  }

  /// How many commits did more than to append local transactions.
  func otherCommits() throws -> UInt64 {
    try transaction.withValue(of: TableKey.meta(.others).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("others")
    } ?? 0
  }

  /// How often something before the end of the log became another: see ``MetaName/rewrites``.
  func rewrites() throws -> UInt64 {
    try transaction.withValue(of: TableKey.meta(.rewrites).span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("rewrites")
    } ?? 0
  }

  /// The kinds of operations that the log has and no version has folded.
  func unfoldedKinds() throws -> Set<OperationKind> {
    let key = TableKey.meta(.unfolded)
    let found = try transaction.withValue(of: key.span, in: tables.meta) { row in
      var kinds: Set<OperationKind> = []
      var reader = ByteReader(row)
      while reader.remaining > 0 { kinds.insert(OperationKind(rawValue: try reader.readVarint("unfolded"))) }
      return kinds
    }
    return found ?? []
  }
}

extension MetaTable where Source == TableStorage {
  func setClock(_ timestamp: Timestamp) throws {
    try source.put(.meta(.clock), in: tables.meta) { $0.append(littleEndian: timestamp.rawValue) }
  }

  func countOtherCommit() throws {
    let count = try otherCommits() &+ 1
    try source.put(.meta(.others), in: tables.meta) { $0.append(varint: count) }
  }

  func countRewrite() throws {
    let count = try rewrites() &+ 1
    try source.put(.meta(.rewrites), in: tables.meta) { $0.append(varint: count) }
  }

  func setLastState(_ state: StateNumber) throws {
    try source.put(.meta(.states), in: tables.meta) { $0.append(varint: UInt64(state.rawValue)) }
  }

  func setDatabaseToken(_ token: DatabaseToken) throws {
    try source.put(.meta(.remote), in: tables.meta) { writer in
      writer.append(bigEndian: token.remote.rawValue)
      writer.append(varint: token.offset)
      writer.append(token.hash)
    }
  }

  /// Forgets which remote the store belongs to.
  func removeDatabaseToken() throws {
    _ = try transaction.delete(TableKey.meta(.remote).span, in: tables.meta)
  }

  /// Lets the remote's list of zones be read from its start again: it may have another zone of a name that is
  /// free now.
  func readZoneListAgain() throws {
    guard let token = try databaseToken(), token.offset > 0 else { return }
    try setDatabaseToken(DatabaseToken(remote: token.remote, offset: 0, hash: .zero))
  }

  /// Writes the kinds of operations that the log has and no version has folded.
  func storeUnfoldedKinds(_ kinds: Set<OperationKind>) throws {
    var writer = ByteWriter()
    for kind in kinds.map(\.rawValue).sorted() { writer.append(varint: kind) }
    try transaction.put(writer.span, for: TableKey.meta(.unfolded).span, in: tables.meta)
  }

  /// Sets how a type's records fare that were deleted and updated concurrently.
  func setPolicy(_ policy: ExistencePolicy, of type: NameNumber) throws {
    source.changeNotes?.noteAll()
    var policies = try source.policies()
    policies[type] = policy
    try source.put(.meta(.policies), in: tables.meta) { writer in
      for (type, policy) in policies.sorted(by: { $0.key < $1.key }) where policy != .latest {
        writer.append(varint: UInt64(type.rawValue))
        writer.append(policy.rawValue)
      }
    }
    source.forgetPolicies()
  }
}
