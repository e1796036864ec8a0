package import OperationFormat

/// The log of a zone.
package struct LogName: Hashable, Sendable {
  package var zone: ZoneID
  package var incarnation: IncarnationID

  package init(_ zone: ZoneID, _ incarnation: IncarnationID) {
    (self.zone, self.incarnation) = (zone, incarnation)
  }

  /// The log that a request is about: the first free part of its path, of the zone that a field names.
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    (zone, incarnation) = try request.log(free[0])
  }

  package var text: String { incarnation.description }
}

/// A call about a log that says nothing else.
protocol LogVerb: RemoteVerb {
  var log: LogName { get }
  init(_ log: LogName)
}

extension LogVerb {
  package init(_ request: WireRequest, _ free: [String]) throws(WireProblem) {
    self.init(try LogName(request, free))
  }

  package var request: WireRequest { Self.route.request(log.text).naming(log.zone) }
}
