import EventStore

/// An operation of a step, by its word in files. ``ScenarioStepParser`` has a row for each.
enum ScenarioVerb: String, CaseIterable, Sendable {
  case create, save, delete
  case setParent = "set_parent"
  case moveZone = "move_zone"
  case addToCounter = "incr"
  case setCounter = "counter_set"
  case insertIntoSet = "set_add"
  case removeFromSet = "set_remove"
  case clearSet = "set_clear"
  case insertIntoList = "list_insert"
  case deleteFromList = "list_delete"
  case setInList = "list_set"
  case moveInList = "list_move"
  case insertIntoText = "text_insert"
  case deleteFromText = "text_delete"
  case bulkCreate = "bulk_create"
  case repetition = "repeat"
  case transaction
  case clock, offline, online
  case push, pull
  case beginPush = "push_begin"
  case acknowledgePush = "push_ack"
  case sync, quiesce, redeliver, restart
  case wipeLocal = "wipe_local"
  case loseToken = "lose_token"
  case createZone = "zone_create"
  case deleteZone = "zone_delete"
}

/// What an assertion asserts, by its word in files. ``ScenarioStepParser`` has a row for each.
enum ScenarioAssertionWord: String, CaseIterable, Sendable {
  case converged, exists, absent, field, set, list, text, parent
  case noDanglingParent = "no_dangling_parent"
  case count, survivor, pending
  case pendingAtLeast = "pending_at_least"
  case lastPushCount = "last_push_count"
  case lastPullCount = "last_pull_count"
}

extension FieldKind {
  /// The words in `needs` of a scenario that has verbs for such fields, or values of them.
  var scenarioCapabilities: [String] {
    switch self {
    case .register: []
    case .counter: ["counter"]
    case .set: ["set"]
    case .map: ["map"]
    case .list: ["list", "list-move"]
    case .text: ["text"]
    // No verb contributes yet.
    case .contributions: []
    }
  }
}
