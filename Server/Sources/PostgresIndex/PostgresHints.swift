internal import Dispatch
internal import Foundation
internal import OperationFormat
internal import Replicator
internal import Synchronization

/// Tells other servers on a database what was changed, and hears it from them: by `NOTIFY` on the channel `tributary`.
///
/// A notification is sent after the commit and outside of it: PostgreSQL takes a lock on the whole cluster as a transaction
/// with one commits. It is a hint: if none comes, or a connection is lost, readers find out by themselves, and those who
/// listen are told that anything may have changed.
///
/// A text is `z` if lists of zones were changed, and `INCARNATION:OFFSET` for each log, with commas between them.
final class PostgresHints: Sendable {
  private static let channel = "tributary"
  /// PostgreSQL takes fewer than 8,000 bytes.
  private static let textMax = 7900
  /// What comes within this time is told together.
  private static let gathering = DispatchTimeInterval.milliseconds(5)
  /// So often it tells itself that it hears. If it does not, the connection is made again.
  private static let (heartbeat, silence) = (Duration.seconds(5), Duration.seconds(15))

  private struct State {
    var logs: [IncarnationID: UInt64] = [:]
    var hasList = false
    var isGathering = false
    var isStopped = false

    mutating func add(_ more: [IncarnationID: UInt64], list: Bool) {
      logs.merge(more) { max($0, $1) }
      hasList = hasList || list
    }
  }

  /// Only used on the queue.
  private final class Sender: @unchecked Sendable {
    var connection: PostgresConnection?
  }

  private let address: String
  private let state = Mutex(State())
  private let feed = HintFeed()
  private let sender = Sender()
  private let queue = DispatchQueue(label: "tributary.postgres.notify")

  init(_ address: String) {
    self.address = address
    let thread = Thread { [weak self] in Self.hear(address) { self } }
    thread.name = "tributary.postgres.listen"
    thread.start()
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    feed.finish()
  }

  func listen() -> AsyncStream<RemoteHint> { feed.listen() }

  // MARK: Telling

  /// Tells others, a little later.
  func notify(_ logs: [IncarnationID: UInt64], list: Bool) {
    if logs.isEmpty, !list { return }
    let begins = state.withLock { state in
      state.add(logs, list: list)
      defer { state.isGathering = true }
      return !state.isGathering
    }
    if begins { queue.asyncAfter(deadline: .now() + Self.gathering) { [weak self] in self?.send() } }
  }

  private func send() {
    let (logs, hasList) = state.withLock { state in
      defer { (state.logs, state.hasList, state.isGathering) = ([:], false, false) }
      return (state.logs, state.hasList)
    }
    var texts = [hasList ? "z" : ""]
    for (log, offset) in logs {
      let item = "\(log):\(offset)"
      if texts[texts.count - 1].utf8.count + item.utf8.count < Self.textMax {
        texts[texts.count - 1] += texts[texts.count - 1].isEmpty ? item : ",\(item)"
      } else {
        texts.append(item)
      }
    }
    let isReused = sender.connection != nil
    do {
      let connection = try sender.connection ?? PostgresConnection(address)
      sender.connection = connection
      for text in texts { try Self.send(text, connection) }
    } catch {
      sender.connection = nil
      // Once more over a new one. If that fails too, those who listen lose theirs as well, and ask.
      if isReused {
        state.withLock { $0.add(logs, list: hasList) }
        send()
      }
    }
  }

  private static func send(_ text: String, _ connection: PostgresConnection) throws(PostgresError) {
    try connection.query(
      "select pg_notify('\(channel)', convert_from($1::bytea, 'UTF8'))", [.bytes(Array(text.utf8))])
  }

  // MARK: Hearing

  /// Hears what is told, until nobody has the index any more.
  private static func hear(_ address: String, _ owner: () -> PostgresHints?) {
    var wait = 0.5
    while true {
      guard let hints = owner(), !hints.state.withLock({ $0.isStopped }) else { return }
      do throws(PostgresError) {
        let connection = try PostgresConnection(address)
        try connection.run("listen \(channel)")
        wait = 0.5
        // What was told before was not heard.
        hints.feed.tell(.anything)
        try hear(connection, owner)
        return
      } catch {
        Thread.sleep(forTimeInterval: wait)
        wait = min(wait * 2, 10)
      }
    }
  }

  /// - Throws: `PostgresError` once the connection is lost, or says nothing.
  private static func hear(_ connection: PostgresConnection, _ owner: () -> PostgresHints?)
    throws(PostgresError)
  {
    var heard = ContinuousClock.now
    while true {
      guard let hints = owner(), !hints.state.withLock({ $0.isStopped }) else { return }
      for text in try connection.notifications() {
        heard = .now
        hints.take(text)
      }
      let quiet = ContinuousClock.now - heard
      if quiet > silence { throw PostgresError(state: "", message: "nothing was heard for \(silence)") }
      if quiet > heartbeat { try send("", connection) }
      var descriptor = pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0)
      _ = poll(&descriptor, 1, Int32(1000))
    }
  }

  private func take(_ text: String) {
    var logs: [IncarnationID: UInt64] = [:]
    for item in text.split(separator: ",") {
      if item == "z" { feed.tell(.zones) }
      let parts = item.split(separator: ":")
      if parts.count == 2, let log = IncarnationID(String(parts[0])), let offset = UInt64(parts[1]) {
        logs[log] = offset
      }
    }
    if !logs.isEmpty { feed.tell(.logs(logs)) }
  }
}
