/// The bytes of one entry, inside LMDB's map or a dirty page: valid until the transaction's next write or end.
@usableFromInline
struct Entry {
  @usableFromInline var key: UnsafeRawBufferPointer
  @usableFromInline var value: UnsafeRawBufferPointer
}
