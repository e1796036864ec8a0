#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// SplitMix64: small random numbers, determined by a seed.
struct SeededGenerator: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64

  /// Starts from `seed`, or from the number in the environment variable `TEST_SEED`, and prints the seed.
  init(_ seed: UInt64, for test: String = #function) {
    let chosen = getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? seed
    print("\(test): TEST_SEED=\(chosen)")
    self.seed = chosen
    state = chosen
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }

  /// A number whose number of bits is uniform, so that varints of all lengths occur.
  mutating func number() -> UInt64 { next() >> UInt64(below(64)) }
}
