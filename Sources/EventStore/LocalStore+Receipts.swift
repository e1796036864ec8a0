import LMDB

extension LocalStore {
  /// How far a write has come: see `ReadTransaction.receipt(of:)`.
  ///
  /// - Parameter written: what the closure of the write returned: ``WriteTransaction/written``.
  /// - Throws: as there; ``StoreError`` `closed`, `system`.
  public func receipt(of written: Written) throws -> Receipt { try read { try $0.receipt(of: written) } }

  /// Waits until a write has come as far as a closure asks for.
  ///
  /// - Parameters:
  ///   - written: as there.
  ///   - isEnough: called with how far it has come, and again whenever that is another.
  /// - Returns: the receipt that was enough.
  /// - Throws: as `receipt(of:)`; `CancellationError`.
  @discardableResult
  public func receipt(
    of written: Written, when isEnough: @Sendable (Receipt) -> Bool
  ) async throws -> Receipt {
    for try await receipt in values({ try $0.receipt(of: written) }) where isEnough(receipt) {
      return receipt
    }
    try Task.checkCancellation()
    throw StoreError.closed(core.environment.directory)
  }
}
