import OperationFormat

extension Name {
  /// Throws unless the name has at least one byte, and not too many.
  ///
  /// - Parameter what: what has the name, for the message.
  package func check(_ what: String, _ bytesMax: Int) throws {
    let count = rawValue.utf8.count
    guard count > 0, count <= bytesMax else {
      throw StoreError(
        .nameInvalid, "\(what) has \(count) bytes", hint: "use 1 to \(bytesMax) bytes of UTF-8")
    }
  }
}

extension ZoneID {
  /// Throws unless both of its names can be stored.
  func check() throws {
    try name.check("a zone's name", Limits.nameBytesMax)
    guard owner.rawValue.utf8.count <= Limits.nameBytesMax else {
      throw StoreError(
        .nameInvalid, "the owner's name of a zone has \(owner.rawValue.utf8.count) bytes",
        hint: "use at most \(Limits.nameBytesMax) bytes of UTF-8")
    }
  }
}
