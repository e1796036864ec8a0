/// The bytes of one entry, in LMDB's map or in a dirty page. They are valid until the transaction's next
/// write or end.
@usableFromInline
struct Entry {
  @usableFromInline var key: UnsafeRawBufferPointer
  @usableFromInline var value: UnsafeRawBufferPointer
}
