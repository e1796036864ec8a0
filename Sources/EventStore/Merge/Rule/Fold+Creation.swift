import OperationFormat

extension Fold {
  /// Notes that an operation created the loaded record. Of several creations the least counts: by the timestamp
  /// that its transaction has itself, then as heads. The effective timestamp may change later, when another one
  /// that was greater is forgotten.
  mutating func noteCreation(by head: Head) throws {
    let place = try loaded.place(of: .creation)
    if !place.body.isEmpty {
      let cell = loaded.bytes.span.bytes.extracting(place.body)
      guard let known = Creation.stamp(in: cell) else { throw PackedRow.damaged(at: place.body.lowerBound) }
      guard try storage.isGreater(known.head(head.id.index), head) else { return }
    }
    // The writer is lent, so that nothing is allocated.
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    Creation.append(head, to: &edited)
    let existence = loaded.existence
    loaded.splice(edited.span, as: .creation, at: place)
    // It comes before the cell.
    loaded.existence = existence
  }
}
