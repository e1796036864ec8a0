extension Editor where M: Submodel {
  /// The record as one of the parent.
  public var parent: Editor<M.Parent> {
    Editor<M.Parent>(id: Ref(id), write: write, schema: M.Parent.schema)
  }

  public subscript<Found>(dynamicMember path: KeyPath<Editor<M.Parent>, Found>) -> Found {
    parent[keyPath: path]
  }

  public subscript<Found>(dynamicMember path: ReferenceWritableKeyPath<Editor<M.Parent>, Found>) -> Found {
    get { parent[keyPath: path] }
    nonmutating set { parent[keyPath: path] = newValue }
  }
}
