import LMDB
import OperationFormat

/// Opens the store of a directory, or makes one there: its environment, tables and identity, checked.
struct OpenedStore {
  let environment: Environment
  let tables: Tables
  let identity: StoreIdentity
  /// Where the store is; nil if it was opened for reading alone.
  let place: NotedPlace?

  /// The version of the format of a store that this code writes. One of a former format becomes a store of it
  /// when it is opened for writing: its rows stay as they are, and are read, until they are rewritten.
  static let formatVersion: UInt64 = 7
  /// The versions that it reads.
  static let formatVersions: ClosedRange<UInt64> = 2...formatVersion

  init(_ directory: String, _ durability: Durability, _ configuration: StoreConfiguration) throws {
    let creates = configuration.createsStore && !configuration.isReadOnly
    var calls = FileCalls()
    calls.didCall = configuration.didCallForAsset
    let mark = StoreMark(directory, calls: calls)
    // Held until the mark is written: only one of two processes makes the store, and neither removes the
    // other's files.
    var making: DirectoryLock?
    if try !mark.exists && !configuration.isReadOnly {
      if creates { try SystemEnvironment.makeDirectory(directory) }
      making = try DirectoryLock(directory, isRequired: !configuration.allowsNetworkFileSystem)
    }
    let isMade = try mark.exists
    // Another process has made it meanwhile.
    if isMade { making = nil }
    if isMade { try mark.checkDataFile() } else { try mark.prepare(creates: creates) }
    var options = Environment.Options(sync: durability == .durable ? .full : .noMetaSync)
    if configuration.isUnsynced { options.sync = .none }
    options.mapBytes = configuration.mapBytes
    options.readOnly = configuration.isReadOnly
    options.allowsNetworkFileSystem = configuration.allowsNetworkFileSystem
    options.createsFile = creates
    let opensDamaged = configuration.isReadOnly && configuration.opensDamaged
    if opensDamaged { options.checkedPagesMax = 0 }
    #if DEBUG
      options.faults = configuration.faults
    #endif
    environment = try Self.openEnvironment(directory, options)
    do {
      // The pages that opening the store reads.
      if opensDamaged { try environment.checkPages(of: ["meta"]) }
      // If a store was made here, a data file without one has lost it.
      let opened = try Self.open(environment, directory, creates && !isMade, configuration)
      tables = opened.0
      if configuration.isReadOnly {
        identity = opened.1
        place = nil
      } else {
        let place = NotedPlace(
          mark: mark, environment: environment, tables: tables, configuration: configuration)
        self.place = place
        identity = try isMade ? place.check() : place.make(opened.1, isNew: opened.isNew)
        if opened.format < Self.formatVersion { try raiseFormat() }
      }
    } catch {
      environment.close()
      throw error
    }
    extendLifetime(making)
  }

  private static func openEnvironment(
    _ directory: String, _ options: Environment.Options
  ) throws -> Environment {
    do {
      return try Environment(directory: directory, options: options)
    } catch {
      if error.code == .accessDenied { throw StoreError.accessDenied(directory) }
      throw error
    }
  }

  private static func open(
    _ environment: Environment, _ directory: String, _ creates: Bool, _ configuration: StoreConfiguration
  ) throws -> (Tables, StoreIdentity, format: UInt64, isNew: Bool) {
    var isOurs = false
    do {
      let transaction = try environment.beginRead()
      let meta = try transaction.openTable("meta", create: false)
      let (identity, format) = try check(transaction, meta, directory)
      isOurs = true
      let tables = try Tables(in: transaction, create: false)
      if tables.indexes != nil || configuration.isReadOnly { return (tables, identity, format, false) }
    } catch let error as LMDBError where error.code == .notFound {
      guard isOurs || creates else {
        throw StoreError(
          .notAStore, "“\(directory)” has a data file without a store in it",
          hint: "give the directory of a store")
      }
    }
    if isOurs { try addTables(environment, directory, configuration) }
    if let (tables, identity) = try make(environment, directory, configuration) {
      return (tables, identity, formatVersion, true)
    }
    // Another process has made the store since. A reader opens its tables: an aborted write would close them.
    let transaction = try environment.beginRead()
    let meta = try transaction.openTable("meta", create: false)
    let (identity, format) = try check(transaction, meta, directory)
    return (try Tables(in: transaction, create: false), identity, format, false)
  }

  /// Makes the tables that a former version did not have.
  private static func addTables(
    _ environment: Environment, _ directory: String, _ configuration: StoreConfiguration
  ) throws {
    if let name = try environment.beginRead().tableNames().first(where: { !Tables.names.contains($0) }) {
      throw StoreError(
        .damaged,
        "the store “\(directory)” lacks a table, and has one named “\(name)”, which no version makes",
        hint:
          "keep a copy of the directory, and restore it from a backup, or sync a new store from the remote")
    }
    guard !configuration.isReadOnly else {
      throw StoreError(
        .readOnly, "a former version made the store “\(directory)”, without a table that this one needs",
        hint: "open it for writing once")
    }
    let isIndexed = try hasTable("references", environment)
    let transaction = try environment.beginWrite()
    let storage = TableStorage(tables: try Tables(in: transaction, create: true))
    storage.begin(transaction)
    if !isIndexed {
      // The index of references is filled by the fold: as if what sets a field had not been known.
      try storage.meta.storeUnfoldedKinds(storage.meta.unfoldedKinds().union([.set]))
    }
    try storage.commit()
  }

  private static func hasTable(_ name: String, _ environment: Environment) throws(LMDBError) -> Bool {
    do throws(LMDBError) {
      _ = try environment.beginRead().openTable(name, create: false)
      return true
    } catch {
      guard error.code == .notFound else { throw error }
      return false
    }
  }

  /// Makes a store in an empty environment; nil if there is one.
  private static func make(
    _ environment: Environment, _ directory: String, _ configuration: StoreConfiguration
  ) throws -> (Tables, StoreIdentity)? {
    let transaction = try environment.beginWrite()
    let tables = try Tables(in: transaction, create: true)
    if try transaction.contains(TableKey.meta(.format).span, in: tables.meta) { return nil }
    guard transaction.id == 1 else { throw foreign(directory) }
    let identity = StoreIdentity(replica: ReplicaID(rawValue: random128(configuration.makeRandom)), epoch: 0)
    try writeFormat(transaction, tables.meta)
    var writer = ByteWriter()
    identity.append(to: &writer)
    try transaction.put(writer.span, for: TableKey.meta(.identity).span, in: tables.meta)
    let failure = try CommitFault.check(configuration.commitFault, at: directory)
    let storage = TableStorage(tables: tables)
    storage.begin(transaction)
    _ = try storage.indexes.declare(configuration.indexes)
    try storage.commit()
    if let failure { throw failure }
    return (tables, identity)
  }

  /// Says that the store may have rows that former versions cannot read.
  private func raiseFormat() throws {
    let transaction = try environment.beginWrite()
    try Self.writeFormat(transaction, tables.meta)
    try transaction.commit()
  }

  private static func writeFormat(_ transaction: borrowing LMDBTransaction, _ meta: Table) throws {
    var writer = ByteWriter()
    writer.append(varint: formatVersion)
    try transaction.put(writer.span, for: TableKey.meta(.format).span, in: meta)
  }

  private static func foreign(_ directory: String) -> StoreError {
    StoreError(
      .notAStore, "“\(directory)” has a data file of another program", hint: "choose another directory")
  }

  /// Checks that the format is known and the store complete, and reads the identity and the format.
  private static func check(
    _ transaction: borrowing LMDBTransaction, _ meta: Table, _ directory: String
  ) throws -> (StoreIdentity, format: UInt64) {
    let version = try transaction.withValue(of: TableKey.meta(.format).span, in: meta) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("format")
    }
    guard let version else {
      throw foreign(directory)
    }
    guard version >= Self.formatVersions.lowerBound else {
      throw StoreError(
        .olderFormat,
        "the store “\(directory)” has format \(version), from before the first release; this program reads "
          + "\(Self.formatVersions.lowerBound) and \(Self.formatVersion)",
        hint: "export its log with the program that made it, and import it into a new store")
    }
    guard version <= Self.formatVersion else {
      throw StoreError(
        .newerFormat,
        "the store “\(directory)” has format \(version); this program reads up to \(Self.formatVersion)",
        hint: "use a newer version of the program")
    }
    // A store with a part of a log does not know what is missing: it would say “in sync”, and claim to have
    // seen what it has not.
    guard try !transaction.contains(TableKey.meta(.importing).span, in: meta) else {
      throw StoreError(
        .importUnfinished,
        "the store “\(directory)” has a part of a log: its import was cut short, or is not at its end yet",
        hint: "unless it is being imported now, remove the directory, and import the same file again")
    }
    return (try identity(transaction, meta, directory), version)
  }

  static func identity(
    _ transaction: borrowing LMDBTransaction, _ meta: Table, _ directory: String
  ) throws -> StoreIdentity {
    let identity = try transaction.withValue(of: TableKey.meta(.identity).span, in: meta) {
      try StoreIdentity(row: $0)
    }
    if let identity { return identity }
    throw StoreError(
      .damaged, "the store “\(directory)” has lost its identity", hint: StoreError.damageHint)
  }
}
