import OperationFormat

extension Fold {
  /// Notes that an operation created the loaded record. Of several creations the least counts: by the timestamp
  /// that its transaction has itself, then as heads. The effective timestamp may change later, when another one
  /// that was greater is forgotten.
  ///
  /// A row that an earlier version has folded stays as it is: it does not tell of earlier creations.
  mutating func noteCreation(by head: Head) throws {
    loaded.setFlag(.uncreated, false)
    let place = try loaded.place(of: .creation)
    switch try Creation(cell: loaded.bytes.span.bytes.extracting(place.body)) {
    case .unknown: return
    case .none: break
    case .made(let known):
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
