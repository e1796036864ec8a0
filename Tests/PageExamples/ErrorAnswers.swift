import EventStore
import Replicator
import StoreTesting
import Testing

// The examples of HandlingErrors.md are between the marks: an app author's code, which may use only public
// API.

// page
/// What an app does after a round.
enum Answer: Equatable {
  /// All is well, or the next round tries again.
  case wait
  /// Show a message that the user can act on.
  case askUser(String)
  /// Show a message for the one who runs the remote.
  case askOperator(String)
  /// Close the store, open it, and make a new replicator.
  case reopen

  init(_ report: SyncReport) {
    self = report.failure.map(Answer.init) ?? .wait
    for zone in report.zones where self == .wait { self = Answer(zone.status) }
    if self == .wait, let problem = report.listProblems.first { self = .askOperator("\(problem)") }
  }

  init(_ status: ZoneStatus) {
    switch status {
    case .inSync, .unchanged, .local, .unfinished, .removed, .forked: self = .wait
    case .parked(_, let failure), .failed(let failure): self = Answer(failure)
    case .paused(.revoked):
      self = .askUser("You may not read this list any more. Keep a copy of what you wrote?")
    case .paused: self = .askUser("The remote has this list no more. Keep a copy of it, or delete it?")
    }
  }

  init(_ failure: SyncFailure) {
    let text = "\(failure.message). \(failure.hint)"
    switch failure.code {
    case "overQuota", "denied", "notARemote", "identityMismatch", "schemeUnknown", "remoteChanged",
      "newerFormat", "newerSegment", "full", "readOnly", "accessDenied", "laneClosed", "unauthenticated",
      "moved", "segmentRefused", "keyUnknown", "signatureMissing", "olderFormat", "notAStore", "alreadyOpen":
      self = .askUser(text)
    case "damaged", "damagedSegment", "missingSegment", "wentBack", "zoneUnknown", "mismatch",
      "incarnationChanged", "unsuitable":
      self = .askOperator(text)
    case "closed", "removed", "commitUncertain": self = .reopen
    default: self = .wait
    }
  }
}
// page end

@Suite("An app's answers to errors")
struct AnswersToErrors {
  private func failure(_ code: RemoteError.Code) -> SyncFailure {
    SyncFailure(code: code.rawValue, message: "what", hint: "do", scope: .zone)
  }

  @Test("say for each status who must act")
  func statuses() {
    for status in [.inSync, .local, .unfinished, .removed, .forked(offset: 1)] as [ZoneStatus] {
      #expect(Answer(status) == .wait)
    }
    #expect(Answer(.failed(failure(.unreachable))) == .wait)
    #expect(Answer(.failed(failure(.init(rawValue: "ofALaterVersion")))) == .wait)
    #expect(Answer(.failed(failure(.overQuota))) == .askUser("what. do"))
    #expect(Answer(.failed(failure(.unauthenticated))) == .askUser("what. do"))
    #expect(Answer(.failed(failure(.keyOutdated))) == .wait)
    #expect(Answer(.failed(failure(.init(rawValue: "commitUncertain")))) == .reopen)
    #expect(Answer(.parked(offset: 1, failure(.newerSegment))) == .askUser("what. do"))
    #expect(Answer(.parked(offset: 1, failure(.damagedSegment))) == .askOperator("what. do"))
    #expect(Answer(.failed(failure(.zoneUnknown))) == .askOperator("what. do"))
    guard case .askUser = Answer(.paused(.purged)) else {
      Issue.record("nobody is asked about a paused zone")
      return
    }
  }

  @Test("handle a whole round's report")
  func rounds() async throws {
    let directory = TemporaryDirectory()
    let store = try LocalStore(directory: directory.path + "/store", durability: .consistent)
    defer { store.close() }
    let report = try await LogReplicator(store: store, remote: MemoryRemote(identity: RemoteID(rawValue: 1)))
      .syncOnce()
    #expect(Answer(report) == .wait)
  }
}
