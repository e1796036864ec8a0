package import EventStore

/// What an entry of a log states as its receive time, said naively: by its rule, over a list of all entries before.
package enum NaiveReceiveTime {
  /// An entry of a log, as its bytes say.
  package struct Entry: Sendable {
    package var replica: ReplicaID
    /// The time of its newest change, in milliseconds since 1970.
    package var newest: Int64
    /// When it was received, in milliseconds since 1970; nil if it does not say.
    package var received: Int64?
    /// Whether its transactions were in an entry before.
    package var isOfferedAgain: Bool

    package init(replica: ReplicaID, newest: Int64, received: Int64?, isOfferedAgain: Bool = false) {
      (self.replica, self.newest, self.received) = (replica, newest, received)
      self.isOfferedAgain = isOfferedAgain
    }

    /// The receive time lowers its timestamp.
    var isCapped: Bool { received.map { newest > $0 + fiveMinutes } ?? false }
    /// Its writer's clock and the place's agreed when it was written.
    var isAgreement: Bool { received.map { abs(newest - $0) <= fiveMinutes } ?? false }
  }

  private static let fiveMinutes: Int64 = 300_000

  /// The receive time of an entry, in milliseconds since 1970; nil if it states none.
  ///
  /// - Parameters:
  ///   - replica, newest: whose changes it has, and the time of the newest one.
  ///   - wall: the wall clock of who writes it.
  ///   - place: the clock of the place.
  ///   - former: what an entry stated that had its transactions before; nil for none.
  ///   - log: all entries before it.
  package static func stated(
    by replica: ReplicaID, newest: Int64, wall: Int64, place: Int64, former: Int64? = nil, after log: [Entry]
  ) -> Int64? {
    [former, stated(by: replica, newest: newest, wall: wall, place: place, log)].compactMap { $0 }.min()
  }

  private static func stated(
    by replica: ReplicaID, newest: Int64, wall: Int64, place: Int64, _ log: [Entry]
  ) -> Int64? {
    let entry = Entry(replica: replica, newest: newest, received: place)
    if !entry.isCapped { return wall <= place + fiveMinutes ? place : nil }
    let asked = log.suffix(256)
    // The last entry that says anything.
    let last = asked.lastIndex { other in
      if other.isOfferedAgain { return false }
      if other.replica == replica { return other.isCapped }
      return other.received == nil || other.isCapped || other.isAgreement
    }
    guard let last, asked[last].replica == replica || asked[last].isAgreement else { return nil }
    let latest = asked[last...].compactMap(\.received).max() ?? 0
    return place + fiveMinutes >= latest ? place : nil
  }
}
