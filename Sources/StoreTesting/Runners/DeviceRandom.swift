import Synchronization

/// Seeded random bits for many threads.
final class DeviceRandom: Sendable {
  private let generator: Mutex<SeededRandom>

  init(_ generator: SeededRandom) { self.generator = Mutex(generator) }

  func next() -> UInt64 { generator.withLock { $0.next() } }
}
