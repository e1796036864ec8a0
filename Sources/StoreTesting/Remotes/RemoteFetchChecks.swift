internal import OperationFormat
internal import Replicator

/// Fetches of segments after a token.
enum RemoteFetchChecks {
  private typealias Check = RemoteLogConformance.Check

  static let all: [RemoteLogConformance.Check] = [
    Check("What was appended is read at once, through every door", doors: 3) { trial in
      var maker = trial.maker(try await trial.create())
      var token = ChangeToken.start(of: RemoteTrial.zone, maker.incarnation)
      for _ in 0..<5 {
        let segment = try maker.next()
        let place = try await trial.append(segment, after: token.offset)
        for door in 0..<3 {
          let page = try await trial.page(after: token, door: door)
          let stored = StoredSegment(
            offset: place.offset, receivedMilliseconds: place.receivedMilliseconds, chain: place.chain,
            bytes: segment.bytes)
          try trial.expect(page, .segments([stored], hasMore: false), "the page")
        }
        token.offset = place.offset
        token.chain = place.chain
        token.hash = segment.header.contentHash
        let rest = try await trial.page(after: token)
        try trial.expect(rest, .segments([], hasMore: false), "the page after the last")
      }
    },
    Check("A page has at most the bytes asked for, but at least one segment") { trial in
      var maker = trial.maker(try await trial.create())
      var segments: [PackedSegment] = []
      for size in [10, 500, 20, 2000, 30, 40, 50, 1000, 10] {
        segments.append(try maker.next(valueBytes: size))
        _ = try await trial.append(segments[segments.count - 1])
      }
      for bytesMax in [0, 1, 300, 700, 1000, 3000, 1 << 20] {
        var token = ChangeToken.start(of: RemoteTrial.zone, maker.incarnation)
        var read: [[UInt8]] = []
        while read.count < segments.count {
          guard case .segments(let page, let hasMore) = try await trial.page(after: token, bytesMax: bytesMax)
          else { throw trial.failure("the zone is gone") }
          let bytes = page.reduce(0) { $0 + $1.bytes.count }
          try trial.expect(!page.isEmpty, "a page is empty and there is more")
          try trial.expect(page.count == 1 || bytes <= bytesMax, "\(bytes) bytes in a page of \(bytesMax)")
          read += page.map(\.bytes)
          try trial.expect(hasMore, read.count < segments.count, "whether there is more")
          token.offset = UInt64(read.count)
          token.chain = page.last?.chain
          token.hash = segments[read.count - 1].header.contentHash
        }
        try trial.expect(read, segments.map(\.bytes), "all that was read")
      }
    },
    Check("A large segment comes back as it was") { trial in
      var maker = trial.maker(try await trial.create())
      let segment = try maker.next(transactions: 3, valueBytes: 1_000_000)
      _ = try await trial.append(segment)
      let read = try await trial.readAll(maker.incarnation, bytesMax: 10, door: 1).segments
      try trial.expect(read.map(\.bytes) == [segment.bytes], "other bytes came back")
    },
    Check("A token whose segment is not there is refused") { trial in
      var maker = trial.maker(try await trial.create())
      let first = try maker.next()
      _ = try await trial.append(first)
      var token = ChangeToken.start(of: RemoteTrial.zone, maker.incarnation)
      token.offset = 1
      token.chain = nil
      token.hash = first.header.previousHash
      let (other, beyond) = (
        token,
        ChangeToken(
          zone: token.zone, incarnation: token.incarnation, offset: 2, hash: first.header.contentHash)
      )
      // The same segment after another log.
      let forked = ChangeToken(
        zone: token.zone, incarnation: token.incarnation, offset: 1, hash: first.header.contentHash,
        chain: LogChain(hash: first.header.contentHash))
      for token in [other, beyond, forked] {
        try await trial.expect(.wentBack, "a fetch after \(token.offset)") {
          try await trial.doors[1].segments(after: token, bytesMax: 1000)
        }
      }
    },
    Check("Zones do not see each other's segments") { trial in
      var makers: [SegmentMaker] = []
      for number in 1...3 as ClosedRange<UInt64> {
        let zone = ZoneID(name: Name("zone-\(number)"))
        makers.append(trial.maker(try await trial.create(zone, number), replica: number, zone: zone))
      }
      for round in 1...4 as ClosedRange<UInt64> {
        for index in makers.indices {
          let place = try await trial.append(try makers[index].next())
          try trial.expect(place.offset, round, "the offset")
        }
      }
      for maker in makers {
        let read = try await trial.readAll(maker.incarnation, zone: maker.zone, door: 1).segments
        try trial.expect(read.count, 4, "the segments")
        for segment in read {
          let header = try trial.header(segment)
          try trial.expect(header.zone, maker.zone, "the zone")
          try trial.expect(header.replica, maker.replica, "the replica")
        }
      }
    },
    Check("A reader beside writers sees a beginning of what there is, whole", doors: 4) { trial in
      let incarnation = try await trial.create()
      let counts = try await trial.inParallel(4) { index in
        guard index > 0 else {
          var seen = 0
          for _ in 0..<15 {
            let count = try await trial.readAll(incarnation, bytesMax: 400).segments.count
            try trial.expect(count >= seen, "what was there went away")
            seen = count
          }
          return 0
        }
        var maker = trial.maker(incarnation, replica: UInt64(index))
        for _ in 0..<12 { _ = try await trial.append(try maker.next(valueBytes: 100), door: index) }
        return 12
      }
      let count = try await trial.readAll(incarnation).segments.count
      try trial.expect(count, counts.reduce(0, +), "the segments")
    },
  ]
}
