extension Columns where M: Submodel {
  public subscript<Found>(dynamicMember path: KeyPath<Columns<M.Parent>, Found>) -> Found {
    Columns<M.Parent>(path: self.path)[keyPath: path]
  }
}
