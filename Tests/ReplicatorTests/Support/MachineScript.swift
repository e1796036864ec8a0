@testable import EventStore
@testable import OperationFormat
@testable import Replicator

/// A script of the machine: lines that begin with `> ` are inputs, lines that begin with `#` are comments,
/// and every other line is output of the input before it.
///
/// Inputs that prepare the situation, without output:
///
/// | input | meaning |
/// |---|---|
/// | `policy retry=1000 retryMax=… poll=… commit=… push=… assetRetry=… chunks=… atOnce=…` | another policy, and a new machine |
/// | `select notes lists` | only these zones, and a new machine |
/// | `list 2`, `list none` | how far the store has read the list of zones |
/// | `leftovers` | the store has removed zones whose space is not free |
/// | `zone notes attached at=1 pending=2 eager unsent broken` | the state of a zone in the store; also `local`,
/// `offered`, `deleting` |
/// | `forget notes` | the store does not have the zone |
///
/// Events: `start`, `sync`, `sync fetch`, `sync ship`, `commit`, `push`, `push 4` (log a has 4 entries), `push list`,
/// `push anything`, `timer next`.
///
/// Results of a round: `state`, `heads none`, `heads 4 5 closed list` (log a ends at 4 and at 5, and is closed,
/// and the list has nothing new), `events 3 created=lists deleted=notes later=work problem=4 more`, `applied
/// created=lists removed=notes`, `reclaimed`, `failed unreachable after=1000`. `opened` is short for `state`,
/// `heads none` if they are asked for, `events` with nothing new, `state`.
///
/// Results of a zone begin with `notes:`, see ``ScriptInput/zoneResult(_:)``. A code that begins with
/// `store.` is the store's.
struct MachineScript {
  struct Mistake: Error, CustomStringConvertible {
    var description: String
  }

  private var policy = SyncPolicy()
  private var selection = ZoneSelection.all
  private var machine = ReplicatorMachine(policy: SyncPolicy(), selection: .all, misplacedResults: .fail)
  private var state = StoreSyncState(
    identity: StoreIdentity(replica: ReplicaID(rawValue: 1), epoch: 0), databaseToken: page(at: 2).token,
    zones: [])

  /// Plays a script.
  ///
  /// - Returns: the same script with the outputs of the machine.
  static func play(_ text: String) throws -> String {
    var script = MachineScript()
    var played: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      // Removes the output of an earlier machine.
      guard line.isEmpty || line.hasPrefix("#") || line.hasPrefix("> ") else { continue }
      played.append(String(line))
      guard line.hasPrefix("> ") else { continue }
      do {
        played += try script.perform(String(line.dropFirst(2)))
      } catch {
        throw Mistake(description: "“\(line)”: \(error)")
      }
    }
    return played.joined(separator: "\n")
  }

  private mutating func perform(_ line: String) throws -> [String] {
    if line == "opened" { return try open() }
    var input = try ScriptInput(line)
    defer { assert(input.isEmpty) }
    if let zone = input.zone {
      let result = try input.zoneResult(zone)
      try input.end()
      return send(.completed(.zone(zone, result)))
    }
    let event = try event(&input)
    try input.end()
    if event.isEmpty { return [] }
    return event.flatMap { send($0) }
  }

  /// The store's state, no heads if the machine asks for them, and a list of zones with nothing new.
  private mutating func open() throws -> [String] {
    guard let token = state.databaseToken else { throw Mistake(description: "the store has no list") }
    var lines = send(.completed(.state(state)))
    if lines.contains(where: { $0.hasPrefix("ask heads") }) { lines += send(.completed(.heads(nil))) }
    lines += send(.completed(.zoneEvents(ZoneEventPage(events: [], token: token, hasMore: false))))
    return lines + send(.completed(.state(state)))
  }

  private mutating func send(_ event: ReplicatorEvent) -> [String] {
    machine.step(event).flatMap { $0.lines }
  }

  /// The events of an input; none for an input that prepares the situation.
  private mutating func event(_ input: inout ScriptInput) throws -> [ReplicatorEvent] {
    switch try input.word() {
    case "policy":
      policy = try input.policy()
      renew()
    case "select":
      selection = .only(Set(input.words().map { ZoneID(name: Name($0)) }))
      renew()
    case "list":
      let word = try input.word()
      state.databaseToken = word == "none" ? nil : page(at: try ScriptInput.number(word)).token
    case "leftovers": state.hasRemovedZones = true
    case "zone":
      let zone = try input.zoneState()
      state.zones.removeAll { $0.zone == zone.zone && $0.attachment == zone.attachment }
      state.zones.append(zone)
    case "forget":
      let zone = ZoneID(name: Name(try input.word()))
      state.zones.removeAll { $0.zone == zone }
    case "start": return [.started]
    case "sync": return [.syncRequested(try input.steps())]
    case "commit": return [.localCommit]
    case "push": return [.remoteChanged(try input.hint())]
    case "heads": return [.completed(.heads(try input.heads()))]
    case "timer": return [.timerFired(try input.timer())]
    case "state": return [.completed(.state(state))]
    case "events": return [.completed(.zoneEvents(try input.page(after: state.databaseToken)))]
    case "applied": return [.completed(.appliedZoneEvents(input.applied()))]
    case "reclaimed": return [.completed(.reclaimed)]
    case "failed": return [.completed(.failed(try input.failure()))]
    case let word: throw Mistake(description: "there is no input “\(word)”")
    }
    return []
  }

  private mutating func renew() {
    machine = ReplicatorMachine(policy: policy, selection: selection, misplacedResults: .fail)
  }
}
