internal import OperationFormat
internal import Replicator
internal import Synchronization

/// Appends of segments, also by several writers at once.
enum RemoteAppendChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("Offsets are dense from 1") { trial in
      var maker = trial.maker(try await trial.create())
      for offset in 1...6 as ClosedRange<UInt64> {
        let after = offset % 2 == 0 ? 0 : offset - 1
        let place = try await trial.append(try maker.next(), after: after, door: Int(offset % 2))
        try trial.expect(place.offset, offset, "the offset")
      }
    },
    Check("A segment that is appended again is there already") { trial in
      var maker = trial.maker(try await trial.create())
      let segments = try (0..<4).map { _ in try maker.next() }
      var places: [SegmentPlace] = []
      for segment in segments { places.append(try await trial.append(segment)) }
      for (segment, place) in zip(segments, places) {
        for door in 0..<2 {
          for after in 0..<place.offset {
            let outcome = try await trial.outcome(segment, after: after, door: door)
            try trial.expect(outcome, .alreadyThere(place), "the outcome")
          }
        }
      }
      try trial.expect(try await trial.readAll(maker.incarnation).segments.count, 4, "the segments")
    },
    Check("The receive time that an append tells is the one that is read") { trial in
      var maker = trial.maker(try await trial.create())
      var places: [SegmentPlace] = []
      for _ in 0..<3 { places.append(try await trial.append(try maker.next())) }
      let read = try await trial.readAll(maker.incarnation, door: 1).segments
      let found = read.map {
        SegmentPlace(
          offset: $0.offset, receivedMilliseconds: $0.receivedMilliseconds, chain: $0.chain)
      }
      try trial.expect(found, places, "the places")
    },
    Check("What is offered again states no later receive time than before") { trial in
      var maker = trial.maker(try await trial.create())
      let now = try await trial.append(try maker.next()).receivedMilliseconds
      // A remote without a clock may state none.
      guard let now else { return }
      let day: UInt64 = 86_400_000
      for former in [now &- day, 5_000, now &+ 1000 * day] where former != .max {
        var segment = try maker.next()
        segment.formerReceivedMilliseconds = former
        let place = try await trial.append(segment)
        guard let received = place.receivedMilliseconds, received <= former,
          former > now || received == former
        else {
          throw trial.failure(
            "\(place.receivedMilliseconds.map { "\($0)" } ?? "none") was stated after \(former)")
        }
        // It is the same segment for all that.
        segment.formerReceivedMilliseconds = nil
        try trial.expect(try await trial.outcome(segment), .alreadyThere(place), "the outcome")
        let read = try await trial.readAll(maker.incarnation, door: 1).segments
        try trial.expect(read.last?.receivedMilliseconds, received, "the time that is read")
      }
    },
    Check("Other content under the same sequences is a fork, and is not appended") { trial in
      var maker = trial.maker(try await trial.create())
      _ = try await trial.append(try maker.next())
      let copy = maker
      let place = try await trial.append(try maker.next())
      _ = try await trial.append(try maker.next())
      let outcome = try await trial.outcome(try copy.fork(99), door: 1)
      try trial.expect(outcome, .fork(place), "the outcome")
      try trial.expect(try await trial.readAll(maker.incarnation).segments.count, 3, "the segments")
    },
    Check("Some of the same sequences in another cut overlap, whatever their content") { trial in
      var maker = trial.maker(try await trial.create())
      let copy = maker
      var same = maker
      let place = try await trial.append(try maker.next(transactions: 3))
      for segment in [try copy.fork(99), try same.next(transactions: 1)] {
        let outcome = try await trial.outcome(segment, door: 1)
        try trial.expect(outcome, .overlaps(place), "the outcome")
      }
      try trial.expect(try await trial.readAll(maker.incarnation).segments.count, 1, "the segments")
    },
    Check("Each place states the log's chain there, and pages state the same") { trial in
      let incarnation = try await trial.create()
      var makers = (1...2).map { trial.maker(incarnation, replica: $0) }
      var chain = LogChain.start(of: incarnation)
      var places: [SegmentPlace] = []
      for offset in 1...6 as ClosedRange<UInt64> {
        let base = offset > 2 ? (offset: offset - 2, chain: places[Int(offset) - 3].chain!) : nil
        let segment = try makers[Int(offset % 2)].next(base: base)
        chain = LogChain(segment.header.statement.hash, at: offset, after: chain)
        places.append(
          try await trial.append(segment, after: offset % 3 == 0 ? 0 : offset - 1, door: Int(offset % 2)))
        try trial.expect(places[places.count - 1].chain, chain, "the chain at \(offset)")
      }
      let read = try await trial.readAll(incarnation, door: 1).segments
      try trial.expect(read.map(\.chain), places.map(\.chain), "the chains of the page")
    },
    Check("Another epoch's segment of the same sequences is no fork") { trial in
      let incarnation = try await trial.create()
      let replica = ReplicaID(rawValue: 1)
      for epoch in 0..<3 as Range<UInt32> {
        var maker = SegmentMaker(RemoteTrial.zone, incarnation, replica: replica, epoch: epoch)
        let place = try await trial.append(try maker.next())
        try trial.expect(place.offset, UInt64(epoch) + 1, "the offset")
      }
    },
    Check("Of appends at once each is there exactly once, in its writer's order", doors: 6) { trial in
      let incarnation = try await trial.create()
      let count = 10
      let places = try await trial.inParallel(6) { index in
        var maker = trial.maker(incarnation, replica: UInt64(index + 1))
        var offsets: [UInt64] = []
        for _ in 0..<count {
          let place = try await trial.append(try maker.next(), after: offsets.last ?? 0, door: index)
          offsets.append(place.offset)
        }
        return offsets
      }
      let read = try await trial.readAll(incarnation).segments
      try trial.expect(read.count, 6 * count, "the segments")
      try trial.expect(Set(places.joined()).count, 6 * count, "the offsets of the answers")
      for (index, offsets) in places.enumerated() {
        try trial.expect(offsets, offsets.sorted(), "a writer's offsets")
        for (sequence, offset) in offsets.enumerated() {
          let header = try trial.header(read[Int(offset) - 1])
          try trial.expect(header.replica, ReplicaID(rawValue: UInt128(index + 1)), "whose it is")
          try trial.expect(header.sequences.lowerBound, UInt64(sequence + 1), "its sequence")
        }
      }
    },
    Check("Of one segment that eight append at once, one is appended", doors: 8) { trial in
      var maker = trial.maker(try await trial.create())
      let segment = try maker.next()
      let outcomes = try await trial.inParallel(8) { try await trial.outcome(segment, door: $0) }
      let appended = outcomes.filter { if case .appended = $0 { true } else { false } }
      let offsets = outcomes.map { outcome -> UInt64 in
        switch outcome {
        case .appended(let place), .alreadyThere(let place): place.offset
        default: 0
        }
      }
      try trial.expect(offsets.allSatisfy { $0 == 1 }, "the offsets: \(offsets)")
      try trial.expect(trial.isStrict ? appended.count == 1 : appended.count <= 1, "how many were appended")
      try trial.expect(try await trial.readAll(maker.incarnation).segments.count, 1, "the segments")
    },
    Check("A zone that the remote never had takes nothing") { trial in
      let unknown = trial.incarnation(7)
      var maker = trial.maker(unknown)
      let segment = try maker.next()
      for isThere in [false, true] {
        try await trial.expect(.zoneUnknown, "an append") {
          try await trial.doors[0].append(segment, after: 0)
        }
        try await trial.expect(.zoneUnknown, "a fetch") {
          try await trial.doors[0].segments(after: .start(of: RemoteTrial.zone, unknown), bytesMax: 100)
        }
        try await trial.expect(.zoneUnknown, "a deletion") {
          try await trial.doors[0].deleteZone(RemoteTrial.zone, unknown)
        }
        // Once more with a zone of that name, in another incarnation.
        if !isThere { _ = try await trial.create() }
      }
    },
    Check("A segment for one zone is not taken by another") { trial in
      let notes = try await trial.create()
      let lists = ZoneID(name: "lists")
      _ = try await trial.create(lists, 2)
      var maker = trial.maker(notes, zone: lists)
      let segment = try maker.next()
      try await trial.expect(.zoneUnknown, "an append") { try await trial.doors[0].append(segment, after: 0) }
      let token = ChangeToken.start(of: RemoteTrial.zone, notes)
      try await trial.expect(.mismatch, "an append") {
        try await trial.doors[0].append(segment, after: token)
      }
      try trial.expect(try await trial.readAll(notes).segments.count, 0, "the segments")
    },
    Check("A segment whose bytes are not what its header says is refused") { trial in
      var maker = trial.maker(try await trial.create())
      let (first, second) = (try maker.next(), try maker.next())
      var cut = first
      cut.bytes.removeLast()
      var flipped = first
      flipped.bytes[flipped.bytes.count - 40] ^= 1
      let other = PackedSegment(header: first.header, bytes: second.bytes)
      for segment in [cut, flipped, other, PackedSegment(header: first.header, bytes: [])] {
        try await trial.expect(.mismatch, "an append") { try await trial.doors[0].append(segment, after: 0) }
      }
      try trial.expect(try await trial.append(first).offset, 1, "the first that is taken")
    },
    Check("An append after more than there is tells that the remote went back") { trial in
      var maker = trial.maker(try await trial.create())
      _ = try await trial.append(try maker.next())
      let segment = try maker.next()
      try await trial.expect(.wentBack, "an append") { try await trial.doors[0].append(segment, after: 2) }
      try trial.expect(try await trial.readAll(maker.incarnation).segments.count, 1, "the segments")
    },
    Check("Changes are notified, or the sequence ends") { trial in
      var maker = trial.maker(try await trial.create())
      let stream = trial.doors[0].changes()
      let isTold = Mutex(false)
      let waiting = Task {
        for await _ in stream { break }
        isTold.withLock { $0 = true }
      }
      defer { waiting.cancel() }
      // An append before it listens causes no notification, so it appends until one comes.
      for _ in 0..<500 {
        _ = try await trial.append(try maker.next(), door: 1)
        if isTold.withLock({ $0 }) { return }
        try await Task.sleep(for: .milliseconds(10))
      }
      throw trial.failure("no notification came for 500 appends")
    },
  ]
}
