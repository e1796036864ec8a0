/// 128 bits, kept as two words.
///
/// A `UInt128` must lie at a multiple of 16. Swift 6.3 puts one that is a parameter of an asynchronous function, and
/// for which no register is left, at other addresses (seen with `NonisolatedNonsendingByDefault` and typed throws),
/// and the task's memory is damaged. Two words may lie anywhere, so nothing that is passed about holds a `UInt128`.
@usableFromInline
struct Bits128: Hashable, Sendable {
  @usableFromInline let high: UInt64
  @usableFromInline let low: UInt64

  @inlinable
  init(_ value: UInt128) {
    high = UInt64(truncatingIfNeeded: value >> 64)
    low = UInt64(truncatingIfNeeded: value)
  }

  @inlinable var value: UInt128 { UInt128(high) << 64 | UInt128(low) }
}
