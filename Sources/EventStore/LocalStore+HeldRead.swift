extension LocalStore {
  /// Opens a read that outlives one closure.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  package func beginHeldRead() throws -> HeldRead {
    do {
      return HeldRead(try beginRead())
    } catch {
      throw StoreError.translate(error)
    }
  }
}
