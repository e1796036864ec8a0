import LMDB
public import OperationFormat

/// Indexes: see ``IndexDefinition``.
extension LocalStore {
  /// Declares indexes. Those that the store has stay, also if they are not among these; one that was declared
  /// otherwise under its name is made again.
  ///
  /// Each write keeps them from now on. Over records that are there a new one is not built yet: queries use
  /// it once ``buildIndexes(progress:)`` has ended.
  ///
  /// - Throws: ``StoreError`` `definitionInvalid`, `nameInvalid`, and as ``write(_:)``.
  public func declareIndexes(_ definitions: [IndexDefinition]) async throws {
    try definitions.check()
    try await core.performIfChanged { store in
      try store.flush()
      return try store.storage.indexes.declare(definitions) ? () : nil
    }
  }

  /// As ``declareIndexes(_:)``, but blocks the calling thread until the commit. For tools, tests, and threads
  /// of your own.
  ///
  /// - Parameters:
  ///   - definitions: the indexes that are added.
  ///   - removed: the names of indexes that are removed.
  public func declareIndexesBlockingThisThread(
    _ definitions: [IndexDefinition], removing removed: [Name] = []
  ) throws {
    try definitions.check()
    let known = try indexes().map(\.definition)
    if removed.isEmpty, definitions.allSatisfy(known.contains) { return }
    try core.performBlocking(
      .repeatable { store in
        try store.flush()
        for name in removed { _ = try store.storage.indexes.remove(name) }
        _ = try store.storage.indexes.declare(definitions)
      })
  }

  /// Begins to do as ``buildIndexes(progress:)``, and waits for nothing. It ends when all is done, when the
  /// store is closed or released, or with an error, which the next build meets too.
  package func startBuildingIndexes() throws {
    try core.fileThreads.start { [weak core] in
      var damage = IndexBuild.Damage()
      while let core, (try? IndexBuild(core).step(&damage)) != nil {}
    }
  }

  /// Whether an index is to be built, or what a removed one has left is to go.
  package func hasIndexesToBuild() throws -> Bool {
    try read { try $0.readView.knownIndexes().contains { $0.status != .built } }
  }

  /// How many records the store has, hidden ones included.
  package func recordCountMax() throws -> Int {
    try read { try $0.transaction.statistics(of: $0.tables.records).entries }
  }

  /// Removes an index. Its entries go with the next ``buildIndexes(progress:)``.
  ///
  /// - Returns: whether there was one.
  /// - Throws: ``StoreError`` as ``write(_:)``.
  @discardableResult
  public func removeIndex(_ name: Name) async throws -> Bool {
    try await core.performIfChanged { store in
      try store.flush()
      return try store.storage.indexes.remove(name) ? true : nil
    } ?? false
  }

  /// Builds the indexes that were declared, and removes what removed ones have left.
  ///
  /// It works in steps, and other reads and writes continue meanwhile. If it is cut short, by a crash or a
  /// thrown error, the next call continues where it ended. An index of which a record is damaged stays as it
  /// is; the others are built before the error is thrown.
  ///
  /// - Parameter progress: called after each step; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws; `CancellationError`.
  /// - Complexity: linear in the records of the store, and a little more for sorting. It takes up to some 100
  ///   MB of memory.
  public func buildIndexes(progress: (IndexBuildProgress) throws -> Void = { _ in }) async throws {
    let total = UInt64(try recordCountMax())
    var (last, done): (Name?, UInt64) = (nil, 0)
    var damage = IndexBuild.Damage()
    while true {
      let step = try await core.fileThreads.run(.waits) { [core, damage] _ in
        var damage = damage
        return (try IndexBuild(core).step(&damage), damage)
      }
      damage = step.1
      guard let (index, records) = step.0 else { return }
      let name = index.definition.name
      done = name == last ? done + records : records
      last = name
      try Task.checkCancellation()
      try progress(IndexBuildProgress(index: name, done: min(done, total), total: total))
    }
  }

  /// As ``buildIndexes(progress:)``, but blocks the calling thread.
  public func buildIndexesBlockingThisThread() throws {
    try StoreError.translating {
      var damage = IndexBuild.Damage()
      while try IndexBuild(core).step(&damage) != nil {}
    }
  }

  /// The indexes of the store, in the order in which they were declared.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  public func indexes() throws -> [IndexInformation] {
    try read { transaction in
      try transaction.readView.knownIndexes().filter { $0.status != .removed }.map {
        IndexInformation(definition: $0.definition, isBuilt: $0.status == .built)
      }
    }
  }
}

/// How far the building of an index is.
public struct IndexBuildProgress: Hashable, Sendable {
  public let index: Name
  /// How many records were read, of about how many.
  public let done: UInt64
  public let total: UInt64
}

/// An index of a store.
public struct IndexInformation: Hashable, Sendable {
  public let definition: IndexDefinition
  /// Whether it has all records, so that queries use it.
  public let isBuilt: Bool
}

extension [IndexDefinition] {
  /// - Throws: ``StoreError`` `definitionInvalid`, `nameInvalid`.
  fileprivate func check() throws {
    var names: Set<Name> = []
    for definition in self {
      try definition.check()
      guard names.insert(definition.name).inserted else {
        throw StoreError(
          .definitionInvalid, "two indexes have the name “\(definition.name)”",
          hint: "give each a name of its own")
      }
    }
  }
}
