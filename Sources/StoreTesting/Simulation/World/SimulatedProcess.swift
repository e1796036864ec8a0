import Replicator

/// One life of a device's process: from its start to its crash.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedProcess: @unchecked Sendable {
  let device: Int
  let number: Int
  private(set) var isOver = false
  /// Calls that wait for an answer, and what ends the wait.
  private var calls: [Int: (RemoteError) -> Void] = [:]
  private var callCount = 0

  init(device: Int, number: Int) {
    self.device = device
    self.number = number
  }

  /// Notes a call that waits for an answer.
  ///
  /// - Parameter hangUp: ends the wait if no answer can come any more.
  func open(hangUp: @escaping (RemoteError) -> Void) -> Int {
    callCount += 1
    calls[callCount] = hangUp
    return callCount
  }

  func waits(for call: Int) -> Bool { calls[call] != nil }

  /// Ends a call's wait; false if it has ended.
  func close(_ call: Int) -> Bool { calls.removeValue(forKey: call) != nil }

  /// Ends it, and all its waits.
  func end() {
    isOver = true
    hangUp(Self.over)
  }

  /// The error of a call whose process has ended.
  static let over = RemoteError(.unreachable, "the process is over", hint: "start it again")

  /// Ends all waits with an error.
  func hangUp(_ error: RemoteError) {
    let hangUps = calls.sorted { $0.key < $1.key }
    calls = [:]
    for (_, hangUp) in hangUps { hangUp(error) }
  }
}
