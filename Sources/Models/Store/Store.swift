public import OperationFormat

/// A store of an app's models, on this machine.
///
/// ```swift
/// let store = try Store("notes.store", .durable, models: [Post.self, Tag.self], zones: [.synced("blog")])
/// let post = try await store.write { tx in try tx.create(Post.self, in: "blog") { $0.headline = "Hello" } }
/// print(try store.fetch(post)?.headline ?? "")
/// ```
///
/// It is a `LocalStore` with what an app always says: its models, zones, author and schema. Give ``local`` to
/// a replicator, and call its verbs for what a ``Store`` does not have.
public final class Store: Sendable {
  /// The store under it.
  public let local: LocalStore
  let author: String?
  let schema: UInt64?

  /// Opens the store of a directory, or makes one there, and makes the zones that it does not have.
  ///
  /// - Parameters:
  ///   - directory: path of the directory; the one above it must exist.
  ///   - durability: what a commit that returned means in a power cut.
  ///   - models: the app's models, which are checked. A model brings its submodels.
  ///   - zones: the zones that the app works with.
  ///   - author: who makes its changes, unless a write says otherwise: at most 255 bytes of UTF-8.
  ///   - schema: the version of the app's models, which each change names.
  ///   - configuration: what else may be chosen.
  /// - Throws: as `LocalStore.init(directory:durability:configuration:)`; `StoreError` `nameInvalid` for a
  ///   model with a name that is invalid, or twice there, or with a property that is no field, and for a zone that is
  ///   declared in two ways; `valueInvalid` for an author that is too long.
  public init(
    _ directory: String, _ durability: Durability, models: [any Model.Type] = [], zones: [DeclaredZone] = [],
    author: String? = nil, schema: UInt64? = nil, configuration: StoreConfiguration = StoreConfiguration()
  ) throws {
    let models = models.withSubmodels
    for model in models { try model.check() }
    try Self.checkTypes(of: models)
    try Self.check(zones)
    try StoreError.check(author, "author", Limits.authorBytesMax)
    var configuration = configuration
    configuration.fieldKinds.merge(models.fieldKinds) { $1 }
    configuration.declaredFields = models.declaredFields
    local = try LocalStore(directory: directory, durability: durability, configuration: configuration)
    (self.author, self.schema) = (author, schema)
    guard !configuration.isReadOnly else { return }
    try make(zones)
    try makeIndexes(of: models)
  }

  private static func checkTypes(of models: [any Model.Type]) throws {
    var known: [Name: any Model.Type] = [:]
    for model in models {
      guard let other = known.updateValue(model, forKey: model.type), other != model else { continue }
      throw StoreError(
        .nameInvalid, "\(other) and \(model) are both models of the type “\(model.type)”",
        hint: "give each model a type of its own")
    }
  }

  private static func check(_ zones: [DeclaredZone]) throws {
    for zone in zones where zone.isSynced && zones.contains(.local(zone.id)) {
      throw StoreError(
        .nameInvalid, "the zone “\(zone.id)” is declared as synced and as local", hint: "declare it once")
    }
  }

  private func make(_ zones: [DeclaredZone]) throws {
    let missing = try local.read { tx in
      try zones.filter { zone in
        // One that was synced before is local because it was detached.
        try !tx.hasZone(zone.id)
          || zone.isSynced && tx.attachment(of: zone.id) == .local && !tx.wasSynced(zone.id)
      }
    }
    if missing.isEmpty { return }
    try local.writeBlockingThisThread { tx in
      for zone in missing {
        try tx.createZone(zone.id)
        if zone.isSynced { try tx.attachZone(zone.id) }
      }
    }
  }

  /// Declares the indexes of models, removes those that they do not have any more, and builds new ones: at
  /// once over few records, else while the app works.
  private func makeIndexes(of models: [any Model.Type]) throws {
    let definitions = models.flatMap { $0.indexDefinitions }
    let types = Set(models.map { $0.type })
    let known = try local.indexes()
    let gone = known.map(\.definition).filter { known in
      types.isSuperset(of: known.types) && !definitions.contains { $0.name == known.name }
    }
    try local.declareIndexesBlockingThisThread(definitions, removing: gone.map(\.name))
    guard try local.hasIndexesToBuild() else { return }
    guard try local.recordCountMax() <= Self.recordsAtOnce else { return try local.startBuildingIndexes() }
    do {
      try local.buildIndexesBlockingThisThread()
    } catch let error as StoreError where error.code == .damaged {
      // A damaged record keeps no app from opening its store: queries read all records, and `buildIndexes`
      // throws this.
    }
  }

  /// How many records an opening reads to build an index.
  private static let recordsAtOnce = 10_000

  /// Waits until all indexes are built that a model has got since the store was opened last. Until then
  /// queries read all records where such an index would serve.
  ///
  /// - Parameter progress: called after each step; what it throws ends the wait.
  /// - Throws: `StoreError` `damaged`, `full`; what `progress` throws; `CancellationError`.
  public func buildIndexes(progress: (IndexBuildProgress) throws -> Void = { _ in }) async throws {
    try await local.buildIndexes(progress: progress)
  }

  /// Closes the store once the queued writes are done.
  public func close() { local.close() }

  // MARK: Writing

  /// Runs a closure that writes, and commits what it did: see `LocalStore.write(_:)`.
  ///
  /// - Returns: what the closure returns, once it is committed by the store's durability.
  /// - Throws: what the closure throws; the first error of an ``Editor``; `StoreError` as
  ///   `LocalStore.write(_:)`, and `schemaTooOld` if it wrote to a zone that takes writes only of newer
  ///   versions of the app.
  @discardableResult
  public func write<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    try await local.write { [author, schema] tx in
      (tx.author, tx.schemaVersion) = (author, schema)
      let result = try body(&tx)
      try tx.checkSchema()
      return result
    }
  }

  // MARK: Reading

  /// Runs a closure that reads: all of it sees one commit. See `LocalStore.read(_:)`.
  ///
  /// - Throws: what the closure throws; `StoreError` `closed`, `damaged`, `system`.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { try local.read(body) }
}

/// A zone that an app works with.
public struct DeclaredZone: Hashable, Sendable {
  public let id: ZoneID
  /// Whether it is synced once a replicator runs, with all its history.
  public let isSynced: Bool

  /// A zone that is synced.
  public static func synced(_ id: ZoneID) -> DeclaredZone { DeclaredZone(id: id, isSynced: true) }

  /// A zone that stays on this device. One that is synced already stays so.
  public static func local(_ id: ZoneID) -> DeclaredZone { DeclaredZone(id: id, isSynced: false) }
}
