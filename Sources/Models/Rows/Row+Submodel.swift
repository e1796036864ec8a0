extension Row {
  /// The record as one of a submodel; nil if it is none.
  ///
  /// ```swift
  /// if let image = try row.ref(as: ImagePost.self).flatMap({ try store.fetch($0) }) { print(image.image) }
  /// ```
  public func ref<S: Submodel>(as model: S.Type) -> Ref<S>? {
    model.schema.types.contains(whole.record.type) ? Ref(whole.record.id) : nil
  }
}

extension Row where M: Submodel {
  /// The record as one of the parent.
  public var parent: Row<M.Parent> { Row<M.Parent>(self) }

  public subscript<Found>(dynamicMember path: KeyPath<Row<M.Parent>, Found>) -> Found {
    parent[keyPath: path]
  }
}
