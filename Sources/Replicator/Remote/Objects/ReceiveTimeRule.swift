internal import OperationFormat

/// Decides whether an entry states the time of the place that it is put into, as the time at which its segment was
/// received.
///
/// A receive time can only lower the timestamps of its own entry, so what must not happen is that a place whose clock
/// is behind lowers those of a device that is right. Two of three must agree: the place's clock, this writer's wall
/// clock, and what other replicas wrote into the log.
///
/// 1. A time that would cap nothing is stated if the wall clock is at most `maxDrift` ahead of the place's. Else one of
///    the two is wrong, and none is stated.
/// 2. One that would cap the segment is stated if another replica vouches for the place, and the place's clock has
///    not gone back since: see ``SegmentHead/testimony(to:)``. That the own clock agrees with the place's is not enough:
///    on a local disk they are one clock, and it may have gone back since the changes were made.
///
/// What is offered again was received before: its entry states the time that the former one stated, unless the rule would
/// state an earlier one.
struct ReceiveTimeRule: Sendable {
  private static let maxDrift = HybridClock.maxDriftMilliseconds

  /// What the log before the entry says of the place's clock.
  enum Witness: Hashable, Sendable {
    /// The log was not looked at.
    case unasked
    /// No other replica vouches for the place.
    case none
    /// Another replica vouches for it. The greatest receive time that was found is that, in milliseconds since 1970.
    case vouches(UInt64)
  }

  /// What an entry states.
  enum Verdict: Hashable, Sendable {
    /// The receive time, in milliseconds since 1970; nil for none.
    case states(UInt64?)
    /// The log must be asked first.
    case asksLog
  }

  /// This writer's wall clock, in milliseconds since 1970.
  var wallMilliseconds: Int64
  var witness = Witness.unasked

  /// What the entry of a segment states.
  ///
  /// - Parameter time: as below.
  func verdict(on segment: PackedSegment, at time: UInt64?) -> Verdict {
    // No rule states an earlier one then: the log need not be asked.
    if let former = segment.stated(nil), former <= time ?? .max { return .states(former) }
    switch verdict(on: segment.header, at: time) {
    case .asksLog: return .asksLog
    case .states(let received): return .states(segment.stated(received))
    }
  }

  /// What the entry of a segment states that is offered for the first time.
  ///
  /// - Parameter time: the place's time, in milliseconds since 1970, at most `Int64.max`; nil if it has no clock.
  func verdict(on header: SegmentHeader, at time: UInt64?) -> Verdict {
    guard let time else { return .states(nil) }
    let agrees = UInt64(max(wallMilliseconds, 0)) <= time &+ Self.maxDrift
    if !header.isCapped(at: time), agrees || !header.isSealed { return .states(agrees ? time : nil) }
    switch witness {
    case .unasked: return .asksLog
    case .none: return .states(nil)
    case .vouches(let last):
      return .states(last <= time &+ Self.maxDrift ? time : nil)
    }
  }
}

// MARK: Witnesses

/// What an earlier entry of a log says about the clock of its place.
enum ClockTestimony: Hashable, Sendable {
  /// Its writer vouches for the place.
  case vouches
  /// Its writer does not.
  case denies
  /// Nothing: an earlier one may say more.
  case nothing
}

extension SegmentHead {
  /// What an entry says about the clock of its place to the writer of a segment.
  ///
  /// An entry of another replica vouches if it states a receive time and its newest change was made within
  /// `maxDrift` of that: two clocks agreed. It denies if it states none, or one that caps it: then its writer's clock
  /// did not agree. Older changes, such as those made offline, say nothing.
  ///
  /// An entry of the same replica says nothing, but for one that was capped: another has vouched then. Nor does one whose
  /// transactions are offered again: its time is of before.
  func testimony(to writer: ReplicaID) -> ClockTestimony {
    if isOfferedAgain { return .nothing }
    if header.replica == writer {
      return receivedMilliseconds.map { header.isCapped(at: $0) } ?? false ? .vouches : .nothing
    }
    guard let received = receivedMilliseconds, !header.isCapped(at: received) else { return .denies }
    let newest = header.timestamps.upperBound.milliseconds
    return received <= newest &+ HybridClock.maxDriftMilliseconds ? .vouches : .nothing
  }
}

extension PackedSegment {
  /// The receive time that an entry states which would state one for the segment, if that is offered for the first time.
  package func stated(_ received: UInt64?) -> UInt64? {
    // The greatest number is not a time.
    guard let former = formerReceivedMilliseconds, former < .max else { return received }
    return min(former, received ?? .max)
  }
}

extension SegmentHeader {
  /// Whether a receive time lowers a timestamp of the segment. Of a sealed one that is not known: it says no.
  fileprivate func isCapped(at received: UInt64) -> Bool {
    let newest = timestamps.upperBound
    return HybridClock.effective(newest, receivedMilliseconds: Int64(clamping: received)) < newest
  }
}
