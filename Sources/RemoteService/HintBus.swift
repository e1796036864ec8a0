internal import OperationFormat
internal import Replicator
internal import Synchronization

/// Tells all who listen what has changed at one remote: by calls of this service, and what the remote itself tells.
final class HintBus: Sendable {
  private struct State {
    var mailboxes: [UInt64: HintMailbox] = [:]
    var next: UInt64 = 0
    var source: Task<Void, Never>?
    var isClosed = false
  }

  private let remote: any RemoteLog
  private let state = Mutex(State())

  init(_ remote: any RemoteLog) { self.remote = remote }

  /// Begins to listen. Call ``end(_:)`` with the number.
  func listen() -> (number: UInt64, mailbox: HintMailbox) {
    let mailbox = HintMailbox()
    let (number, isClosed) = state.withLock { state in
      state.next += 1
      if !state.isClosed {
        state.mailboxes[state.next] = mailbox
        if state.source == nil { state.source = follow() }
      }
      return (state.next, state.isClosed)
    }
    if isClosed { mailbox.close() }
    return (number, mailbox)
  }

  func end(_ number: UInt64) {
    let (mailbox, source) = state.withLock { state in
      let mailbox = state.mailboxes.removeValue(forKey: number)
      let source = state.mailboxes.isEmpty ? state.source : nil
      if source != nil { state.source = nil }
      return (mailbox, source)
    }
    mailbox?.close()
    source?.cancel()
  }

  func tell(_ hint: RemoteHint) {
    for mailbox in state.withLock({ Array($0.mailboxes.values) }) { mailbox.put(hint) }
  }

  /// Ends all that listen.
  func close() {
    let (mailboxes, source) = state.withLock { state in
      state.isClosed = true
      defer { (state.mailboxes, state.source) = ([:], nil) }
      return (Array(state.mailboxes.values), state.source)
    }
    source?.cancel()
    for mailbox in mailboxes { mailbox.close() }
  }

  /// Tells what others do at the remote, as long as anybody listens.
  private func follow() -> Task<Void, Never> {
    let changes = remote.changes()
    return Task { [weak self] in
      for await hint in changes { self?.tell(hint) }
    }
  }
}
