import EventStore
import StoreTesting
import Testing

@testable import Replicator

@Suite("A zone's part of a round, step by step")
struct ZoneRounds {
  /// Plays results against the expected effects of a round, and returns its report.
  func play(
    _ state: ZoneSyncState, _ steps: SyncSteps = .all, _ script: [(expected: ZoneEffect, result: ZoneResult)],
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> ZoneReport {
    var round = ZoneRound(state, steps: steps)
    var effect = round.start()
    for (expected, result) in script {
      #expect(effect == expected, sourceLocation: sourceLocation)
      effect = round.step(result)
    }
    #expect(effect == nil, sourceLocation: sourceLocation)
    return round.report
  }

  let nothing = ZoneResult.fetched(.segments([], hasMore: false))

  @Test("With nothing to do it costs one call of the remote")
  func idle() {
    let report = play(
      zoneState(at: 7), .all, [(.fetch(after: token(7)), nothing), (.prepare, .prepared(nil))])
    #expect(report.status == .inSync && report.sent == 0 && report.received == 0)
  }

  @Test("A local zone is not synced")
  func local() {
    #expect(play(zoneState(.local, pending: 3), .all, []).status == .local)
    #expect(play(zoneState(.local, at: nil), .all, []).status == .local)
  }

  @Test("A zone that the remote lacks is created there, then sent")
  func new() {
    let segment = packed(1...2)
    let report = play(
      zoneState(at: nil, pending: 2), .all,
      [
        (.create, .created(incarnation)), (.adopt(incarnation), .adopted),
        (.fetch(after: token(0)), nothing), (.prepare, .prepared(segment)),
        (.append(segment, after: 0), .appended(.appended(SegmentPlace(offset: 1)))),
        (.acknowledge(segment.header, SegmentPlace(offset: 1)), acknowledged(to: 1)),
        (.prepare, .prepared(nil)), (.fetch(after: token(1)), nothing), (.prepare, .prepared(nil)),
      ])
    #expect(report.sent == 2 && report.sentSegments == 1 && report.bytesSent == 100)
    #expect(report.status == .inSync)
  }

  @Test("Work that the log rejects each time it is issued again is not sent without end")
  func rejectedAgain() {
    var script: [(expected: ZoneEffect, result: ZoneResult)] = []
    let segment = packed(1...2)
    for offset in 1...4 as ClosedRange<UInt64> {
      var rejected = IngestReport()
      rejected.rejected = 1
      rejected.token = token(offset)
      script += [
        (.fetch(after: token(offset - 1)), nothing), (.prepare, .prepared(segment)),
        (
          .append(segment, after: offset - 1),
          .appended(.appended(SegmentPlace(offset: offset)))
        ), (.acknowledge(segment.header, SegmentPlace(offset: offset)), .acknowledged(rejected)),
      ]
    }
    let report = play(zoneState(at: 0, pending: 2), .all, script)
    #expect(report.status == .failed(.rejectedAgain))
    #expect(report.sent == 0 && report.rejectedSegments == 4)
  }

  @Test("A zone that is deleted while the remote creates it is deleted there")
  func deletedMeanwhile() {
    let report = play(
      zoneState(at: nil, pending: 2), .all,
      [
        (.create, .created(incarnation)), (.adopt(incarnation), .deletedMeanwhile(incarnation)),
        (.deleteAtRemote(incarnation), .deletedAtRemote), (.finishDeletion(incarnation), .finishedDeletion),
      ])
    #expect(report.status == .removed)
  }

  @Test("A deletion of a log that the remote lacks is complete; one that it refuses is not")
  func withoutLog() {
    let state = zoneState(.deleting, at: 3)
    let unknown = SyncFailure(RemoteError(.zoneUnknown, "there is none", hint: "none"))
    let finish = ZoneEffect.finishDeletion(incarnation, remoteHasDeleted: false)
    let report = play(
      state, .all, [(.deleteAtRemote(incarnation), .failed(unknown)), (finish, .finishedDeletion)])
    #expect(report.status == .removed)
    let twice = play(
      state, .all, [(.deleteAtRemote(incarnation), .failed(unknown)), (finish, .failed(unknown))])
    #expect(twice.status == .failed(unknown))
    let denied = failure(.denied)
    let refused = play(state, .all, [(.deleteAtRemote(incarnation), .failed(denied))])
    #expect(refused.status == .failed(denied))
    // A synced zone is not deleted because the remote lacks it.
    let synced = play(zoneState(at: 3), .all, [(.fetch(after: token(3)), .failed(unknown))])
    #expect(synced.status == .failed(unknown))
  }

  @Test("Pages are fetched to the end, and what others sent meanwhile is fetched after sending")
  func both() {
    let segment = packed(5...5)
    let report = play(
      zoneState(at: 1, pending: 1), .all,
      [
        (.fetch(after: token(1)), .fetched(.segments([stored(2)], hasMore: true))),
        (.fold([stored(2)], after: token(1), isMoreToCome: true), folded(to: 2, 3)),
        (.fetch(after: token(2)), .fetched(.segments([stored(3)], hasMore: false))),
        (.fold([stored(3)], after: token(2)), folded(to: 3)),
        (.prepare, .prepared(segment)),
        // Another device's segment is at offset 4.
        (.append(segment, after: 3), .appended(.appended(SegmentPlace(offset: 5)))),
        (.acknowledge(segment.header, SegmentPlace(offset: 5)), acknowledged(to: 3)),
        (.prepare, .prepared(nil)),
        (.fetch(after: token(3)), .fetched(.segments([stored(4), stored(5)], hasMore: false))),
        (.fold([stored(4), stored(5)], after: token(3)), folded(to: 5)),
        (.prepare, .prepared(nil)),
      ])
    #expect(report.received == 5 && report.receivedSegments == 3 && report.sent == 1)
  }

  @Test("A segment that is already there is acknowledged too")
  func alreadyThere() {
    let segment = packed(1...1)
    let report = play(
      zoneState(at: 0, pending: 1), .ship,
      [
        (.prepare, .prepared(segment)),
        (.append(segment, after: 0), .appended(.alreadyThere(SegmentPlace(offset: 2)))),
        (.acknowledge(segment.header, SegmentPlace(offset: 2)), acknowledged(to: 0)),
        (.prepare, .prepared(nil)),
      ])
    #expect(report.status == .inSync)
  }

  @Test("The search for the next segment starts after the one that was sent before it")
  func shippedThrough() {
    let (first, second) = (packed(1...1), packed(2...2))
    _ = play(
      zoneState(at: 0, pending: 2), .ship,
      [
        (.prepare, .prepared(first)),
        (.append(first, after: 0), .appended(.appended(SegmentPlace(offset: 9)))),
        (.acknowledge(first.header, SegmentPlace(offset: 9)), acknowledged(to: 0)),
        (.prepare, .prepared(second)),
        (.append(second, after: 9), .appended(.appended(SegmentPlace(offset: 10)))),
        (.acknowledge(second.header, SegmentPlace(offset: 10)), acknowledged(to: 0)),
        (.prepare, .prepared(nil)),
      ])
  }

  @Test("A segment that cannot be folded parks the later ones; sending continues")
  func parked() {
    let problem = failure(.damagedSegment)
    let segment = packed(1...1)
    let shipping: [(expected: ZoneEffect, result: ZoneResult)] = [
      (.prepare, .prepared(segment)),
      (.append(segment, after: 2), .appended(.appended(SegmentPlace(offset: 5)))),
      (.acknowledge(segment.header, SegmentPlace(offset: 5)), acknowledged(to: 2)),
      (.prepare, .prepared(nil)),
    ]
    let folding = play(
      zoneState(at: 1, pending: 1), .all,
      [
        (.fetch(after: token(1)), .fetched(.segments([stored(2), stored(3)], hasMore: true))),
        (
          .fold([stored(2), stored(3)], after: token(1), isMoreToCome: true), folded(to: 2, problem: problem)
        ),
      ] + shipping)
    #expect(folding.status == .parked(offset: 3, problem) && folding.received == 1 && folding.sent == 1)
    let fetching = play(
      zoneState(at: 2, pending: 1), .all, [(.fetch(after: token(2)), .failed(problem))] + shipping)
    #expect(fetching.status == .parked(offset: 3, problem) && fetching.sent == 1)
  }

  @Test(
    "Nothing is appended to a log that went back, is unknown, or may not be read",
    arguments: [
      RemoteError.Code.wentBack, .zoneUnknown, .denied,
    ])
  func wentBack(code: RemoteError.Code) {
    let report = play(
      zoneState(at: 4, pending: 1), .all, [(.fetch(after: token(4)), .failed(failure(code)))])
    #expect(report.status == .failed(failure(code)))
  }

  @Test("No space at the remote: fetched work is kept, pending work stays pending")
  func overQuota() {
    let segment = packed(1...1)
    let report = play(
      zoneState(at: 0, pending: 1), .all,
      [
        (.fetch(after: token(0)), nothing), (.prepare, .prepared(segment)),
        (.append(segment, after: 0), .failed(failure(.overQuota))),
      ])
    #expect(report.status == .failed(failure(.overQuota)) && report.sent == 0)
  }

  @Test("A fork stops sending")
  func fork() {
    let segment = packed(1...1)
    let report = play(
      zoneState(at: 0, pending: 1), .ship,
      [
        (.prepare, .prepared(segment)),
        (.append(segment, after: 0), .appended(.fork(SegmentPlace(offset: 3)))),
      ])
    #expect(report.status == .forked(offset: 3))
  }

  @Test(
    "A deleted zone is deleted here too, unless something in it was never sent",
    arguments: [true, false])
  func deleted(isRemoved: Bool) {
    let report = play(
      zoneState(at: 2), .all,
      [(.fetch(after: token(2)), .fetched(.gone(.deleted))), (.withdraw(incarnation), .withdrawn(isRemoved))])
    #expect(report.status == (isRemoved ? .removed : .paused(.deleted)))
  }

  @Test(
    "A zone that was purged stays here and is reported; so does one that was reset, in a round that sends nothing"
  )
  func gone() {
    let segment = packed(1...1)
    for (fate, steps) in [(ZoneFate.purged, SyncSteps.all), (.reset, .fetch)] {
      let fetching = play(zoneState(at: 2), steps, [(.fetch(after: token(2)), .fetched(.gone(fate)))])
      #expect(fetching.status == .paused(fate))
    }
    let appending = play(
      zoneState(at: 0, pending: 1), .ship,
      [(.prepare, .prepared(segment)), (.append(segment, after: 0), .appended(.gone(.purged)))])
    #expect(appending.status == .paused(.purged))
  }

  @Test("A zone that was reset, and that this store may not send, waits for another store")
  func resetReadOnly() {
    for code in [RemoteError.Code.readOnly, .overQuota] {
      let failure = SyncFailure(RemoteError(code, "no", hint: ""))
      let report = play(
        zoneState(at: 2), .all,
        [(.fetch(after: token(2)), .fetched(.gone(.reset))), (.reopen(incarnation), .failed(failure))])
      #expect(report.status == .paused(.reset) && report.shippingFailure == failure)
    }
  }

  @Test("A zone whose log has ended is made again where the app wants it, and by default if it was reset")
  func madeAgain() {
    for fate in [ZoneFate.deleted, .purged, .reset] {
      var round = ZoneRound(
        zoneState(at: 2), steps: .all, answer: { fate == .reset ? $1.standardAnswer : .makeAgain })
      #expect(round.start() == .fetch(after: token(2)))
      #expect(round.step(.fetched(.gone(fate))) == .reopen(incarnation))
      #expect(round.step(.reopened) == .fetch(after: token(2)))
      // Once in a round.
      #expect(round.step(.fetched(.gone(fate))) == nil)
      #expect(round.report.status == .paused(fate))
    }
  }

  @Test("A deletion is sent to the remote first")
  func deleting() {
    let report = play(
      zoneState(.deleting, at: 2), .all,
      [(.deleteAtRemote(incarnation), .deletedAtRemote), (.finishDeletion(incarnation), .finishedDeletion)])
    #expect(report.status == .removed)
  }

  @Test("A log that grows as fast as it is folded ends the round eventually")
  func endless() {
    var round = ZoneRound(zoneState(at: 0, pending: 1), steps: .all)
    var effect = round.start()
    var count = 0
    var offset: UInt64 = 0
    while let next = effect, count < 100_000 {
      count += 1
      switch next {
      case .fetch: effect = round.step(nothing)
      case .prepare: effect = round.step(.prepared(packed(offset + 1...offset + 1)))
      case .append:
        offset += 1
        effect = round.step(.appended(.appended(SegmentPlace(offset: offset))))
      case .acknowledge: effect = round.step(acknowledged(to: offset))
      default: Issue.record("unexpected \(next)")
      }
    }
    #expect(count < 100_000 && round.report.status == .unfinished)
    #expect(round.report.sentSegments == ZoneRound.passesMax * ZoneRound.segmentsInPassMax)
  }

  @Test(
    "Pages that arrive as fast as they are folded end the round eventually; pending work is sent in between",
    arguments: [SyncSteps.all, .fetch])
  func endlessPages(steps: SyncSteps) {
    var round = ZoneRound(zoneState(at: 0, pending: 1), steps: steps)
    var effect = round.start()
    var (count, pages, shipped) = (0, 0, 0)
    while let next = effect, count < 100_000 {
      count += 1
      switch next {
      case .fetch(let token):
        pages += 1
        effect = round.step(.fetched(.segments([stored(token.offset + 1)], hasMore: true)))
      case .fold(let segments, _, _): effect = round.step(folded(to: segments[0].offset))
      case .prepare:
        shipped += 1
        effect = round.step(.prepared(nil))
      default: Issue.record("unexpected \(next)")
      }
    }
    #expect(round.report.status == .unfinished && pages == ZoneRound.passesMax * 64)
    #expect(shipped == (steps == .all ? ZoneRound.passesMax : 0))
  }

  @Test("More pages than one pass may have are read to the end in one round")
  func manyPages() {
    let last = UInt64(ZoneRound.pagesInPassMax) + 5
    var round = ZoneRound(zoneState(at: 0), steps: .all)
    var effect = round.start()
    while let next = effect {
      switch next {
      case .fetch(let token):
        let page = stored(token.offset + 1)
        effect = round.step(.fetched(.segments([page], hasMore: page.offset < last)))
      case .fold(let segments, _, _): effect = round.step(folded(to: segments[0].offset))
      default: effect = round.step(.prepared(nil))
      }
    }
    #expect(round.report.status == .inSync && round.report.receivedSegments == Int(last))
  }

  @Test("A failure that is not of a segment parks nothing, and nothing is sent after it")
  func notParked() {
    let damaged = SyncFailure(code: "damaged", message: "planned", hint: "none", scope: .zone)
    let preparing = play(
      zoneState(at: 3, pending: 1), .all,
      [(.fetch(after: token(3)), nothing), (.prepare, .failed(damaged))])
    #expect(preparing.status == .failed(damaged))
    let deleting = play(
      zoneState(.deleting, at: 3), .all, [(.deleteAtRemote(incarnation), .failed(failure(.denied)))])
    #expect(deleting.status == .failed(failure(.denied)))
    let finishing = play(
      zoneState(.deleting, at: 3), .all,
      [(.deleteAtRemote(incarnation), .deletedAtRemote), (.finishDeletion(incarnation), .failed(damaged))])
    #expect(finishing.status == .failed(damaged))
    let withdrawing = play(
      zoneState(at: 2), .all,
      [(.fetch(after: token(2)), .fetched(.gone(.deleted))), (.withdraw(incarnation), .failed(damaged))])
    #expect(withdrawing.status == .failed(damaged))
    let adopting = play(zoneState(.offered, at: 2), .all, [(.adopt(incarnation), .failed(damaged))])
    #expect(adopting.status == .failed(damaged))
  }

  @Test("A parked zone that has more to send than one round may stays parked")
  func parkedAndUnfinished() {
    let problem = failure(.damagedSegment)
    var round = ZoneRound(zoneState(at: 0, pending: 1), steps: .all)
    _ = round.start()
    var effect = round.step(.failed(problem))
    var offset: UInt64 = 1
    while let next = effect, offset < 100_000 {
      switch next {
      case .prepare: effect = round.step(.prepared(packed(offset...offset)))
      case .append:
        offset += 1
        effect = round.step(.appended(.appended(SegmentPlace(offset: offset))))
      default: effect = round.step(acknowledged(to: 0))
      }
    }
    #expect(round.report.status == .parked(offset: 1, problem) && round.report.sentSegments > 0)
  }
}
