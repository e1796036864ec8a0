public import OperationFormat

extension LocalStore {
  /// Runs a closure that writes, and commits what it did.
  ///
  /// The closure runs once, on the store's thread or that of another write, with no other write at the same
  /// time; it must not wait for anything. Writes of many tasks that wait are committed together. If it
  /// throws, nothing of it remains and the error is thrown on. A task that is cancelled before its turn
  /// throws `CancellationError`, and its closure does not run; after that, cancellation has no effect.
  ///
  /// - Returns: what the closure returns, once it is committed by the store's ``durability``.
  /// - Throws: what the closure throws; ``StoreError`` `closed`, `readOnly`, `full`, `transactionTooLarge`,
  ///   `commitFailed`, `commitUncertain`, `removed`.
  public func write<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    let result = Shared<R?>(nil)
    try await core.perform(.local { write in result.value = try Self.run(body, in: write) })
    return result.value!
  }

  /// As ``write(_:)``, but blocks the calling thread until the commit. For tools, tests, and threads of your
  /// own: in an app's tasks it takes a thread from the others.
  ///
  /// If nothing else is being written, the closure runs on the calling thread, and no other thread is waited
  /// for.
  ///
  /// - Precondition: it is not called in the closure of a write, which would wait for itself.
  @inlinable
  public func writeBlockingThisThread<R: Sendable>(
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) throws -> R {
    // The call ends after the closure has: its result can be stored here.
    var result: R?
    try withUnsafeMutablePointer(to: &result) { result in
      nonisolated(unsafe) let result = result
      try writeBlocking { transaction in result.pointee = try body(&transaction) }
    }
    return result!
  }

  @usableFromInline
  func writeBlocking(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws {
    try core.performBlocking(.local { write in try Self.run(body, in: write) })
  }

  /// Runs the closure of a write.
  private static func run<R>(_ body: (inout WriteTransaction) throws -> R, in write: LocalWrite) throws -> R {
    write.begin()
    var transaction = WriteTransaction(write)
    let result = try body(&transaction)
    try write.end(
      author: transaction.author, label: transaction.label, schemaVersion: transaction.schemaVersion)
    return result
  }

  /// Decides whether records of a type exist that were deleted and updated concurrently.
  ///
  /// The policy is not synced and changes no data, only which records are visible here. Set the same one on
  /// all devices.
  ///
  /// - Throws: ``StoreError`` `nameInvalid`, and as ``write(_:)``.
  public func setExistencePolicy(_ policy: ExistencePolicy, of type: Name) async throws {
    try type.check("a type's name", Limits.nameBytesMax)
    try await core.perform { store in
      try store.storage.meta.setPolicy(policy, of: try store.internName(type))
    }
  }

  /// Lets writes queue up until ``releaseWrites()``, so that they share a commit. For a simulator's store,
  /// which must be one that writes on the calling thread.
  package func holdWrites() { core.writerOfCallingThread.hold() }

  /// Does the writes that queued up, as one group, before it returns.
  package func releaseWrites() { core.writerOfCallingThread.release() }
}
