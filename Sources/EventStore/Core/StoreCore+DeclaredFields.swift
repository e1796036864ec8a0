import OperationFormat

extension StoreCore {
  /// Keeps the fields that the app has declared, for tools. Nothing is written if the store has them.
  func keepDeclaredFields() throws {
    var fields = DeclaredFields(configuration.fieldKinds)
    fields.replaceTypes(by: configuration.declaredFields)
    if fields.isEmpty { return }
    guard try read({ try $0.readView.meta.row(keeping: fields) != nil }) else { return }
    try performBlocking(
      .repeatable { [fields] store in
        try store.flush()
        try store.storage.meta.keep(fields)
      })
  }
}
