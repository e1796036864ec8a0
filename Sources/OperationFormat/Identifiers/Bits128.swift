/// 128 bits, kept as two words.
///
/// It exists because `UInt128` needs an address that is a multiple of 16. In an asynchronous function, Swift
/// 6.3 may store a `UInt128` parameter at another address if no register is free (seen with
/// `NonisolatedNonsendingByDefault` and typed throws). That damages the task's memory. Two words need no such
/// address, so no value that is passed around contains a `UInt128`.
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

/// 128 random bits, the high half first.
///
/// Do not call it in an asynchronous function: a UInt128 on the stack of one breaks its calls in Swift 6.3.
package func random128(_ makeRandom: () -> UInt64) -> UInt128 {
  UInt128(makeRandom()) << 64 | UInt128(makeRandom())
}
