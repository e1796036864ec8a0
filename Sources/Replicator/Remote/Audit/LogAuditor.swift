internal import OperationFormat

/// Audits one log: reads its entries, checks them against each other, then its amendments and its assets.
struct LogAuditor {
  /// The most consecutive offsets that count as missing: a foreign file may have any name, far after the end.
  private static let missingMax: UInt64 = 4096
  private static let pageBytesMax = 8 << 20

  var log: AuditedLog
  var problems: [AuditProblem] = []
  var rules = LaneRules()
  let remote: any RemoteLog
  /// The remote as one of objects; nil if it is another.
  let objects: ObjectRemote?

  init(of log: AuditedLog, _ remote: any RemoteLog) {
    self.log = log
    self.remote = remote
    objects = (remote as? any LogOfObjects)?.log
  }

  private func place(_ offset: UInt64) -> EntryPlace {
    EntryPlace(log: EntryPlace.Log(log.zone, log.incarnation), offset: offset)
  }

  // MARK: Entries

  /// Reads the log to its end, and past entries that cannot be read if the remote is one of objects.
  ///
  /// - Parameters:
  ///   - listed: the offsets that had an object before, in order.
  ///   - progress: called after each page, with the segments so far.
  mutating func read(_ listed: [UInt64], _ progress: (UInt64) throws -> Void) async throws {
    defer { log.writers = rules.writers }
    guard var token = try await begin() else { return }
    while true {
      let outcome: FetchOutcome
      do throws(RemoteError) {
        outcome = try await fetch(after: token)
      } catch {
        guard try note(error, after: token.offset, listed) else { return }
        (token.offset, token.chain) = (token.offset + 1, nil)
        continue
      }
      guard case .segments(let page, _) = outcome, !page.isEmpty else {
        guard let next = try await gap(after: token.offset, outcome, listed) else {
          return end(outcome, token.offset)
        }
        guard next - token.offset <= Self.missingMax else {
          if case .segments = outcome {
            problems.append(
              AuditProblem(
                "\(place(next))", "its log ends at offset \(token.offset): all in between are missing"))
            log.lastOffset = token.offset
            return
          }
          return end(outcome, token.offset)
        }
        for offset in token.offset + 1..<next {
          noteUnreadable(offset, "it is missing, and others follow it")
        }
        (token.offset, token.chain) = (next - 1, nil)
        continue
      }
      for segment in page {
        let continues = log.addLink(Self.statement(of: segment), segment.chain, floor: rules.floor)
        let hash = check(segment, continues)
        log.note(floor: rules.floor, at: segment.offset)
        log.hashes.append(hash)
        log.received.append(segment.receivedMilliseconds)
        token.offset = segment.offset
        token.chain = log.chains[log.chains.count - 1]
        if let hash { token.hash = hash } else if objects == nil { return }
      }
      try progress(log.segments)
    }
  }

  private func fetch(after token: ChangeToken) async throws(RemoteError) -> FetchOutcome {
    if let objects {
      try await objects.pages.segments(afterUnchecked: token, bytesMax: Self.pageBytesMax)
    } else {
      try await remote.segments(after: token, bytesMax: Self.pageBytesMax)
    }
  }

  /// Notes the error of a fetch.
  ///
  /// - Returns: whether reading can continue after the next offset.
  private mutating func note(
    _ error: RemoteError, after offset: UInt64, _ listed: [UInt64]
  ) throws(RemoteError) -> Bool {
    guard [.damagedSegment, .newerSegment, .missingSegment, .denied].contains(error.code) else {
      throw error
    }
    let isDenied = error.code == .denied
    if objects != nil, error.offset == nil || isDenied && offset >= listed.last ?? 0 {
      // Something else is in the place of the log's directory, or the user may not read it: the same holds
      // for all later offsets.
      problems.append(
        AuditProblem("\(ObjectName.log(of: log.incarnation))", "\(error)", isDenied: isDenied))
      log.isReadable = false
      return false
    }
    noteUnreadable(offset + 1, "\(error)", isDenied: isDenied, isNewer: error.code == .newerSegment)
    return objects != nil
  }

  /// The next offset that was listed, if it is beyond the one after the last that was read; nil if reading
  /// has come to the end. An object that was listed at the next offset is the seal, or was put since.
  private func gap(
    after offset: UInt64, _ outcome: FetchOutcome, _ listed: [UInt64]
  ) async throws(RemoteError) -> UInt64? {
    let next = listed.first { $0 > offset } ?? 0
    if case .gone(let fate) = outcome, fate.discardsLog { return nil }
    guard next > offset + 1 else { return nil }
    // A log that was discarded and opened again ends before its seal.
    let seal = try await objects?.entries.discardSeal(at: next, of: log.incarnation, log.zone)
    return seal == nil ? next : nil
  }

  private mutating func end(_ outcome: FetchOutcome, _ offset: UInt64) {
    log.lastOffset = offset
    guard case .gone(let fate) = outcome else { return }
    log.fate = fate
    // A discarded log is not read.
    log.lastOffset = fate.discardsLog ? nil : offset + 1
  }

  /// - Parameter isDenied: whether others may read it: then this user must not give it up.
  private mutating func noteUnreadable(
    _ offset: UInt64, _ message: String, isDenied: Bool = false, isNewer: Bool = false
  ) {
    let entry = place(offset)
    problems.append(
      AuditProblem(
        "\(entry)", message, entry: isDenied ? nil : entry, isDenied: isDenied, isNewer: isNewer))
    log.isReadable = false
    log.unreadable.append(offset)
    log.hashes.append(nil)
    log.received.append(nil)
    _ = log.addLink(nil, nil, floor: rules.floor)
  }

  // MARK: Segments

  /// Checks a segment against those before it.
  ///
  /// - Parameter continues: whether it continues the log.
  /// - Returns: the hash of a token after it; nil if it has no hash that can be trusted.
  private mutating func check(_ segment: StoredSegment, _ continues: Bool) -> ContentHash? {
    let unpacked: UnpackedSegment
    do throws(FormatError) {
      if FrameKind(of: segment.bytes.span.bytes) == .tombstone {
        log.tombstones.append(try LogTombstone.read(segment.bytes.span.bytes))
        // It is unknown what the entry named.
        log.isReadable = false
        return ContentHash(of: segment.bytes.span.bytes)
      }
      unpacked = try SegmentPacker.unpack(segment.bytes)
    } catch {
      log.isReadable = false
      return checkMalformed(segment, error)
    }
    let header = unpacked.header
    var broken =
      unpacked.steps > Limits.foldStepsMax
      ? "\(SegmentRejection.work)" : continues ? nil : "\(SegmentRejection.chain)"
    do {
      log.namedAssets.formUnion(try SegmentCut.assets(namedBy: unpacked.transactions))
    } catch {
      log.isReadable = false
      if Self.isMalformed(error) {
        broken = "\(error)"
      } else {
        problems.append(AuditProblem("\(place(segment.offset))", "\(error)"))
        log.firstNewer = log.firstNewer ?? segment.offset
      }
    }
    count(header, segment)
    checkRules(header, unpacked.transactions, at: segment.offset, broken: broken)
    return header.contentHash
  }

  /// The hash of an entry's statement; nil if it cannot be read.
  private static func statement(of segment: StoredSegment) -> ContentHash? {
    let bytes = segment.bytes.span.bytes
    if FrameKind(of: bytes) == .tombstone { return ContentHash(of: bytes) }
    return try? SegmentFrame.readHeader(bytes).statement.hash
  }

  private mutating func count(_ header: SegmentHeader, _ segment: StoredSegment) {
    log.segments += 1
    log.transactions += header.transactionCount
    log.bytes += UInt64(segment.bytes.count)
  }

  /// Checks a segment against the rules of a log.
  ///
  /// - Parameter broken: the rule that its content breaks; nil if it breaks none.
  private mutating func checkRules(
    _ header: SegmentHeader, _ transactions: [[UInt8]], at offset: UInt64, broken: String?
  ) {
    let name = "\(place(offset))"
    switch rules.check(header, transactions, at: offset, in: log, broken: broken) {
    case nil: break
    case .leftOut(let message)?: log.consequences.append(AuditProblem(name, message))
    case .doubtful(let message)?: problems.append(AuditProblem(name, message))
    }
  }

  /// Whether the content is malformed for every reader.
  private static func isMalformed(_ error: any Error) -> Bool {
    (error as? FormatError).map { SegmentPacker.isMalformed($0) } ?? false
  }

  /// Checks a segment that cannot be unpacked. If it arrived as its writer made it, every reader rejects it.
  ///
  /// - Returns: its hash, if its header can be read.
  private mutating func checkMalformed(_ segment: StoredSegment, _ error: FormatError) -> ContentHash? {
    if Self.isMalformed(error), let header = try? SegmentFrame.read(segment.bytes.span.bytes).header {
      count(header, segment)
      checkRules(header, [], at: segment.offset, broken: "\(error)")
      return header.contentHash
    }
    problems.append(AuditProblem("\(place(segment.offset))", "\(error)", isNewer: error.code != .outOfMemory))
    log.firstNewer = log.firstNewer ?? segment.offset
    return try? SegmentFrame.readHeader(segment.bytes.span.bytes).contentHash
  }

  // MARK: Amendments

  /// Checks the log's amendments. Those that give an entry up were seen when the log was read.
  ///
  /// - Parameter names: the objects of the log.
  mutating func checkAmendments(_ names: [ObjectName]) async throws(RemoteError) {
    guard let objects else { return }
    for name in names {
      guard let offset = name.amendedOffset else { continue }
      let place = place(offset)
      do throws(RemoteError) {
        guard case .readable? = try await objects.amendments.amendment(of: place) else { continue }
        log.repairs.append(offset)
      } catch {
        let isDenied = error.code == .denied
        guard error.isAboutOneObject || isDenied else { throw error }
        problems.append(
          AuditProblem("\(name)", "\(error)", entry: isDenied ? nil : place, isDenied: isDenied))
      }
    }
  }

  // MARK: Assets

  /// Checks the assets that the segments name. Nobody needs those of a closed log.
  mutating func checkAssets() async throws(RemoteError) {
    guard log.fate == nil else { return }
    let sorted = log.namedAssets.sorted {
      ($0.hash.description, $0.byteCount) < ($1.hash.description, $1.byteCount)
    }
    for reference in sorted {
      let asset = RemoteAsset(reference, of: log.zone, log.incarnation)
      do throws(RemoteError) {
        let state = try await remote.assetState(asset)
        guard case .whole(let manifest) = state else {
          log.missingAssets.append(reference.hash)
          if state == .partial(chunks: AssetManifest.chunkCount(of: reference)) {
            log.unsoundAssets.append(reference)
          }
          continue
        }
        if try await isWhole(asset, manifest) { log.assets += 1 }
      } catch {
        let isDenied = error.code == .denied
        guard error.code == .damagedAsset || isDenied else { throw error }
        let path = error.assetPath ?? "\(ObjectName.assetManifest(of: reference.hash, in: log.incarnation))"
        problems.append(
          AuditProblem(path, error.description, asset: isDenied ? nil : reference, isDenied: isDenied))
        log.unsoundAssets.append(reference)
      }
    }
  }

  /// Whether every chunk of an asset matches the manifest, and all chunks together the asset's hash.
  private mutating func isWhole(
    _ asset: RemoteAsset, _ manifest: AssetManifest
  ) async throws(RemoteError) -> Bool {
    var hasher = ContentHasher()
    for (index, hash) in manifest.chunks.enumerated() {
      let chunk = try await remote.assetChunk(at: UInt64(index), of: asset)
      guard let chunk, ContentHash(of: chunk.span.bytes) == hash else {
        let name = ObjectName.assetChunk(UInt64(index), of: asset.reference.hash, in: asset.incarnation)
        problems.append(
          AuditProblem(
            "\(name)", chunk == nil ? "it is missing" : "it has other bytes", asset: asset.reference))
        return false
      }
      hasher.update(chunk.span.bytes)
    }
    if hasher.finish() == asset.reference.hash { return true }
    let name = ObjectName.assetManifest(of: asset.reference.hash, in: asset.incarnation)
    problems.append(
      AuditProblem("\(name)", "its chunks are those of another asset", asset: asset.reference))
    return false
  }
}
