public import EventStore
package import OperationFormat

/// Why a zone's log is closed: nothing can be appended to it any more.
public enum ZoneFate: Hashable, Sendable {
  /// A user deleted the zone.
  case deleted
  /// The remote discarded all that it had of the zone.
  case purged
  /// The account may not read the zone any more. The event comes in the account's list of zones, and the log
  /// itself has no seal: others may still append to it. If the account may read it again, the list says so.
  case revoked
  /// The remote discarded all that it had of the zone, and asks stores to send everything again.
  case reset

  /// Whether the log may be opened again, so that it continues.
  var mayReopen: Bool { self != .revoked }

  /// Whether the remote discards what the log had: then it is not read, and what is missing before its seal is gone.
  package var discardsLog: Bool {
    switch self {
    case .purged, .reset: true
    case .deleted, .revoked: false
    }
  }

  /// What a replicator does unless the app chooses something else: a user who deletes a zone, or takes its rights
  /// back, means all devices; what the remote does is no user's wish. One that was reset is sent again.
  public var standardAnswer: ZoneEndAnswer {
    switch self {
    case .deleted, .revoked: .remove
    case .purged: .keep
    case .reset: .makeAgain
    }
  }
}

extension ZoneFate {
  /// What a seal says.
  init(_ kind: LogSeal.Kind) {
    switch kind {
    case .deleted: self = .deleted
    case .purged: self = .purged
    case .reset: self = .reset
    }
  }

  /// The event in the list of zones that says so.
  package var event: ZoneEvent.Kind {
    switch self {
    case .deleted: .deleted
    case .purged: .purged
    case .revoked: .revoked
    case .reset: .reset
    }
  }
}

extension ZoneFate {
  /// What an event in the list of zones says; nil if it ends no log.
  package init?(_ event: ZoneEvent.Kind) {
    switch event {
    case .deleted: self = .deleted
    case .purged: self = .purged
    case .revoked: self = .revoked
    case .reset: self = .reset
    default: return nil
    }
  }

  /// Whether this store may make the log of a paused zone again.
  package var mayBeBroughtBack: Bool {
    switch self {
    case .deleted, .purged: true
    case .revoked, .reset: false
    }
  }

  /// What ended the log of a zone, of “it”.
  package var endReason: String {
    switch self {
    case .deleted: "it was deleted at the remote"
    case .purged: "the remote discarded it"
    case .revoked: "this account may not read it any more"
    case .reset: "the remote discarded it, and asks for everything again"
    }
  }

  /// Why a zone is paused, of “it”.
  package var pauseMessage: String {
    "\(endReason): everything here is kept, and nothing is sent or received"
  }

  /// What the user of a paused zone may choose. Pages and commands name the same choices.
  package var pauseHint: String {
    switch self {
    case .deleted, .purged: "Bring it back for everybody, keep it on this device only, or delete it"
    case .revoked: "Ask its owner for access, keep it on this device only, or delete it here"
    case .reset: "Sync with a store that may send it, keep it on this device only, or delete it"
    }
  }
}
