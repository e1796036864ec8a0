internal import OperationFormat
internal import Replicator

/// Deleted zones, whose logs are closed.
enum RemoteDeletionChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("A deleted zone takes nothing, and gives what it had") { trial in
      var maker = trial.maker(try await trial.create())
      let (first, second) = (try maker.next(), try maker.next())
      _ = try await trial.append(first)
      _ = try await trial.append(second)
      let third = try maker.next()
      try await trial.delete(maker.incarnation)
      for door in 0..<2 {
        let outcome = try await trial.outcome(third, after: 2, door: door)
        try trial.expect(outcome, .gone(.deleted), "an append")
        let read = try await trial.readAll(maker.incarnation, door: door)
        try trial.expect(read.segments.map(\.bytes), [first.bytes, second.bytes], "what is read")
        try trial.expect(read.fate, .deleted, "the end")
        let end = ChangeToken(
          zone: maker.zone, incarnation: maker.incarnation, offset: 2, hash: second.header.contentHash)
        try trial.expect(try await trial.page(after: end, door: door), .gone(.deleted), "after the last")
        let again = try await trial.outcome(second, after: 0, door: door)
        guard case .alreadyThere(let place) = again, place.offset == 2 else {
          throw trial.failure("an entry of a closed log is already there, found \(again)")
        }
      }
    },
    Check("An empty zone that was deleted is gone") { trial in
      let incarnation = try await trial.create()
      try await trial.delete(incarnation, door: 1)
      let page = try await trial.page(after: .start(of: RemoteTrial.zone, incarnation))
      try trial.expect(page, .gone(.deleted), "a fetch")
    },
    Check("The list tells of the making and of the deletion, once and in order", doors: 4) { trial in
      let incarnation = try await trial.create()
      try await trial.delete(incarnation)
      _ = try await trial.inParallel(4) { try await trial.delete(incarnation, door: $0) }
      for door in 0..<4 {
        let events = try await trial.events(door: door)
        let expected = [ZoneEvent.Kind.created, .deleted].map {
          ZoneEvent(kind: $0, zone: RemoteTrial.zone, incarnation: incarnation)
        }
        try trial.expect(events, expected, "the list")
      }
    },
    Check("Of eight that delete a zone at once, all succeed, and the list tells it once", doors: 8) { trial in
      var maker = trial.maker(try await trial.create())
      for _ in 0..<3 { _ = try await trial.append(try maker.next()) }
      let incarnation = maker.incarnation
      _ = try await trial.inParallel(8) { try await trial.delete(incarnation, door: $0) }
      let kinds = try await trial.events().map(\.kind)
      try trial.expect(kinds, [.created, .deleted], "the list")
      let read = try await trial.readAll(incarnation)
      try trial.expect(read.segments.count, 3, "the segments")
      try trial.expect(read.fate, .deleted, "the end")
    },
    Check("What is appended during a deletion is before the end of the log", doors: 5) { trial in
      let incarnation = try await trial.create()
      let acknowledged = try await trial.inParallel(5) { index -> [UInt64] in
        guard index > 0 else {
          // One page at a time: a reader may never come to the end while others write.
          var (seen, isOpen) = (0, true)
          while seen < 5 && isOpen {
            await Task.yield()
            let page = try await trial.page(after: .start(of: RemoteTrial.zone, incarnation))
            if case .segments(let segments, _) = page { seen = segments.count } else { isOpen = false }
          }
          try await trial.delete(incarnation)
          return []
        }
        var maker = trial.maker(incarnation, replica: UInt64(index))
        var offsets: [UInt64] = []
        for _ in 0..<1000 {
          await Task.yield()
          switch try await trial.outcome(try maker.next(), after: offsets.last ?? 0, door: index) {
          case .appended(let place), .alreadyThere(let place): offsets.append(place.offset)
          case .gone(let fate):
            try trial.expect(fate, .deleted, "why it is gone")
            return offsets
          case .fork, .overlaps: throw trial.failure("a fork of what nobody else wrote")
          }
        }
        throw trial.failure("a thousand appends, and the deletion beside them has not closed the log")
      }
      let read = try await trial.readAll(incarnation, door: 1)
      try trial.expect(read.fate, .deleted, "the end")
      let offsets = acknowledged.joined().sorted()
      try trial.expect(offsets, read.segments.map(\.offset), "what was acknowledged, and what is there")
    },
    Check("A zone that is made again has a new log") { trial in
      var old = trial.maker(try await trial.create())
      _ = try await trial.append(try old.next())
      try await trial.delete(old.incarnation)
      let incarnation = try await trial.create(RemoteTrial.zone, 2, door: 1)
      try trial.expect(incarnation, trial.incarnation(2), "the incarnation")
      try trial.expect(try await trial.create(RemoteTrial.zone, 3), incarnation, "the one that is there now")
      let page = try await trial.page(after: .start(of: RemoteTrial.zone, incarnation))
      try trial.expect(page, .segments([], hasMore: false), "the new log")
      var new = trial.maker(incarnation)
      try trial.expect(try await trial.append(try new.next()).offset, 1, "the first offset")
      try trial.expect(try await trial.outcome(try old.next()), .gone(.deleted), "an append to the old log")
      try trial.expect(try await trial.readAll(old.incarnation).segments.count, 1, "the old log")
      // To delete the old one again is no deletion of the new one.
      try await trial.delete(old.incarnation)
      let events = try await trial.events()
      try trial.expect(events.map(\.kind), [.created, .deleted, .created], "the list")
      try trial.expect(try await trial.readAll(incarnation).fate, nil, "the new log's end")
    },
  ]
}
