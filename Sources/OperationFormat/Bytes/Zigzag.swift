/// A signed number in zigzag form: 0, −1, 1, −2 … become 0, 1, 2, 3 …
@inlinable @inline(__always)
package func zigzagBits(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

/// The number that ``zigzagBits(_:)`` gives these bits.
@inlinable @inline(__always)
package func unzigzag(_ bits: UInt64) -> Int64 {
  Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1)
}
