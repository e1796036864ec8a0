internal import OperationFormat
internal import Replicator

/// The list of zones, and how zones are created.
enum RemoteZoneChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("An empty remote has an empty list of zones") { trial in
      for door in trial.doors {
        let page = try await trial.retrying { try await door.zoneEvents(after: nil) }
        try trial.expect(page.events, [], "the events")
        try trial.expect(page.token.offset, 0, "the token's offset")
        try trial.expect(!page.hasMore, "there is more")
        let next = try await trial.retrying { try await door.zoneEvents(after: page.token) }
        try trial.expect(next, page, "the page after the token")
      }
    },
    Check("A zone that is made twice keeps its first incarnation") { trial in
      let first = try await trial.create()
      try trial.expect(first, trial.incarnation(1), "the incarnation of a new zone")
      let second = try await trial.create(RemoteTrial.zone, 2, door: 1)
      try trial.expect(second, first, "the incarnation of a zone that is there")
      let event = ZoneEvent(kind: .created, zone: RemoteTrial.zone, incarnation: first)
      try trial.expect(try await trial.events(), [event], "the list of zones")
    },
    Check("Of eight that make a zone at once, all get the same incarnation", doors: 8) { trial in
      let zones = (0..<3).map { ZoneID(name: Name("zone-\($0)")) }
      let made = try await trial.inParallel(8) { index in
        var made: [IncarnationID] = []
        for (number, zone) in zones.enumerated() {
          made.append(try await trial.create(zone, UInt64(index * 10 + number + 1), door: index))
        }
        return made
      }
      try trial.expect(made.allSatisfy { $0 == made[0] }, "the incarnations differ: \(made)")
      for door in 0..<8 {
        let events = try await trial.events(door: door)
        try trial.expect(Set(events.map(\.zone)), Set(zones), "the zones of the list")
        try trial.expect(events.count, zones.count, "the events of the list")
        for event in events {
          let index = zones.firstIndex(of: event.zone)!
          try trial.expect(event.incarnation, made[0][index], "the incarnation in the list")
        }
      }
    },
    Check("The list of zones is read from any token on") { trial in
      var tokens: [DatabaseToken] = []
      var events: [ZoneEvent] = []
      for number in 1...5 as ClosedRange<UInt64> {
        let zone = ZoneID(owner: "ann", name: Name("zone-\(number)"))
        let incarnation = try await trial.create(zone, number)
        events.append(ZoneEvent(kind: .created, zone: zone, incarnation: incarnation))
        let last = tokens.last
        let page = try await trial.retrying { try await trial.doors[1].zoneEvents(after: last) }
        try trial.expect(page.events, [events[events.count - 1]], "the event after the token")
        tokens.append(page.token)
      }
      for (index, token) in tokens.enumerated() {
        let page = try await trial.retrying { try await trial.doors[0].zoneEvents(after: token) }
        try trial.expect(page.events, Array(events[(index + 1)...]), "the events after token \(index)")
        try trial.expect(page.token, tokens[4], "the token at the end")
      }
      try trial.expect(try await trial.events(), events, "the whole list")
    },
    Check("A token of the list that does not fit is refused") { trial in
      _ = try await trial.create()
      let token = try await trial.retrying { try await trial.doors[0].zoneEvents(after: nil) }.token
      var foreign = token
      foreign.remote = RemoteID(rawValue: token.remote.rawValue ^ 1)
      var later = token
      later.offset += 1
      var other = token
      other.hash = .zero
      for door in trial.doors {
        try await trial.expect(.identityMismatch, "another remote's token") {
          try await door.zoneEvents(after: foreign)
        }
        try await trial.expect(.wentBack, "a token beyond the end") {
          try await door.zoneEvents(after: later)
        }
        try await trial.expect(.wentBack, "a token of another event") {
          try await door.zoneEvents(after: other)
        }
      }
    },
    Check("A zone may have any name") { trial in
      let names = [
        "..", "/", "a/b", "remote", "zones", "tmp", "\0", "é", "e\u{301}", "A", "a", "🛒", " ", "%2F", "CON",
        String(repeating: "x", count: Limits.nameBytesMax),
      ]
      for (index, name) in names.enumerated() {
        let zone = ZoneID(owner: index % 2 == 0 ? "" : Name(name), name: Name(name))
        let incarnation = try await trial.create(zone, UInt64(index + 1))
        try trial.expect(incarnation, trial.incarnation(UInt64(index + 1)), "zone \(index) is one of its own")
        var maker = trial.maker(incarnation, zone: zone)
        let segment = try maker.next()
        try trial.expect(try await trial.append(segment, in: zone).offset, 1, "the offset in zone \(index)")
        let read = try await trial.readAll(incarnation, zone: zone, door: 1).segments
        try trial.expect(read.map(\.bytes), [segment.bytes], "what zone \(index) has")
      }
      try trial.expect(try await trial.events().count, names.count, "the zones")
    },
  ]
}
