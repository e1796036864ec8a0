/// Gives pseudo-random numbers that a seed determines: SplitMix64 (Steele, Lea and Flood, 2014).
///
/// One root seed is split into streams, so that a change in the use of one stream does not change the
/// others. Equal seeds give equal numbers on every platform.
public struct SeededRandom: RandomNumberGenerator, ChoiceSource, Hashable, Sendable {
  private var state: UInt64

  /// Creates the stream of a seed.
  public init(seed: UInt64) { state = Self.mix(seed &+ Self.step) }

  /// Returns an independent stream, which depends only on this one's state and on `number`.
  public func stream(_ number: UInt64) -> SeededRandom {
    SeededRandom(seed: state ^ Self.mix(number &* Self.step &+ 1))
  }

  /// Returns the next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mix(state)
  }

  /// Returns a number from 0 up to and without `bound`, which must be positive.
  ///
  /// The bias of at most `bound` in 2^64 is too small to matter in a test.
  public mutating func next(below bound: Int) -> Int {
    precondition(bound > 0, "there is no number below \(bound)")
    return Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  private static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
