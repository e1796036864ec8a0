import EventStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A line of an exported log, parsed and checked.
enum ImportedLine {
  /// The first line, with the version of the log's form.
  case header(StoreIdentity, version: Int)
  /// Any other line but the last.
  case line(ExportedLine)
  case transaction(ImportedTransaction)
  /// The last line: the number of lines before it.
  case end(lines: UInt64)
}

/// A transaction of an exported log.
struct ImportedTransaction: Sendable {
  /// The transaction; its canonical bytes have the hash in the line.
  var transaction: LogTransaction
  var arrivedMilliseconds: Int64
}

extension ImportedLine {
  /// Parses a line, and compares the bytes of a transaction with their hash.
  init(_ json: JSON) throws(JSONError) {
    guard case .object(let members) = json, members.count == 1, let kind = members.keys.first,
      let content = members.values.first
    else { throw JSONError(in: "", "an object with one member was expected, which names the kind of line") }
    var found = try JSONMembers(content, in: Display.plain(kind.rawValue, limit: 40))
    guard let word = LineWord(rawValue: kind.rawValue) else {
      throw JSONError(in: "", "a line of an unknown kind")
    }
    switch word {
    case .store: self = try Self.header(&found)
    case .policy:
      let type = Name(try found.string("type"))
      let policy: ExistencePolicy = try found.word("policy", "latest, deleteWins or updateWins")
      self = .line(.policy(type: type, policy))
    case .deletion: self = try Self.deletion(&found)
    case .zone: self = try Self.zone(&found)
    case .segment: self = try Self.segment(&found)
    case .contested: self = try Self.contested(&found)
    case .limit: self = try Self.limit(&found)
    case .reissued: self = try Self.reissued(&found)
    case .transaction: self = .transaction(try ImportedTransaction(&found))
    case .end: self = .end(lines: try found.integer("lines"))
    }
    try found.finish()
  }

  private static func header(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let version = try members.integer("version", as: Int.self)
    guard 1...ExportedLine.formVersion ~= version else {
      throw JSONError(
        in: members.path,
        "version \(version) was written by another program; this one reads 1 to \(ExportedLine.formVersion)")
    }
    let replica = try members.identifier("replica", as: ReplicaID.self)
    return .header(StoreIdentity(replica: replica, epoch: try members.integer("epoch")), version: version)
  }

  private static func deletion(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    let incarnation = try members.identifier("incarnation", as: IncarnationID.self)
    return .line(.deletion(zone, incarnation))
  }

  private static func zone(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    var base: Base?
    if !members.isMissing("base") {
      var found = try members.members("base")
      base = try found.base(offsetMax: Limits.placeMax)
      try found.finish()
    }
    var token: ExportedToken?
    if !members.isMissing("token") {
      var found = try members.members("token")
      token = ExportedToken(
        base: try found.base(offsetMax: Limits.placeMax), hash: try found.hash("hash"))
      try found.finish()
    }
    let attachment = try attachment(&members) ?? (token == nil ? .local : .attached)
    return .line(.zone(zone, attachment, token: token, base: base, assets: try assetPolicy(&members)))
  }

  private static func assetPolicy(_ members: inout JSONMembers) throws(JSONError) -> AssetPolicy {
    try members.isMissing("assets") ? .lazy : members.word("assets", "lazy or eager")
  }

  private static func attachment(_ members: inout JSONMembers) throws(JSONError) -> ZoneAttachment? {
    guard let text = try members.stringIfPresent("attachment") else { return nil }
    for attachment in [ZoneAttachment.local, .attached] where "\(attachment)" == text { return attachment }
    throw members.wrong("attachment", "local or attached")
  }

  private static func segment(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    let place = try members.base(offsetMax: Limits.placeMax)
    let replica = try members.identifier("replica", as: ReplicaID.self)
    let first: UInt64 = try members.integer("first")
    let last: UInt64 = try members.integer("last")
    var rejection: SegmentRejection?
    if let number: UInt8 = try members.integerIfPresent("rejected") {
      guard let known = SegmentRejection(rawValue: number) else {
        throw members.wrong("rejected", "the number of a reason that this version knows")
      }
      rejection = known
    }
    // An entry that was given up has no sequences. A folded segment cannot end with the greatest sequence.
    guard first <= last, first > 0 || last == 0, last < .max || rejection != nil else {
      throw members.wrong("last", "first or more, from 1,")
    }
    var isChainStated = true
    if let stated = members.take("chainStated") {
      guard case .bool(let isStated) = stated else { throw members.wrong("chainStated", "true or false") }
      isChainStated = isStated
    }
    return .line(
      .segment(
        ExportedSegment(
          zone: zone, place: place, replica: replica, epoch: try members.integer("epoch"),
          sequences: first...last,
          hash: try members.hash("hash"),
          receivedMilliseconds: try members.integerIfPresent("received"), rejection: rejection,
          chain: members.isMissing("chain") ? nil : LogChain(hash: try members.hash("chain")),
          isChainStated: isChainStated, limit: try members.integerIfPresent("limit"))))
  }

  private static func contested(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    let replica = try members.identifier("replica", as: ReplicaID.self)
    let lane = StoreIdentity(replica: replica, epoch: try members.integer("epoch"))
    let first: UInt64 = try members.integer("first")
    guard first > 0, first < .max else { throw members.wrong("first", "a sequence, from 1,") }
    let baseMax: UInt64 = try members.integer("base")
    guard baseMax <= Limits.placeMax else { throw members.wrong("base", "an offset of a log") }
    return .line(.contested(ExportedContest(zone: zone, lane: lane, first: first, baseMax: baseMax)))
  }

  private static func limit(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    let replica = try members.identifier("replica", as: ReplicaID.self)
    let lane = StoreIdentity(replica: replica, epoch: try members.integer("epoch"))
    let first: UInt64 = try members.integer("first")
    let last: UInt64 = try members.integer("last")
    guard 0 < first, first <= last, last < .max else { throw members.wrong("last", "first or more, from 1,") }
    let base = try members.base(offsetMax: Limits.placeMax)
    return .line(.limit(ExportedLimit(zone: zone, lane: lane, sequences: first...last, base: base)))
  }
}

extension ImportedLine {
  fileprivate static func reissued(_ members: inout JSONMembers) throws(JSONError) -> ImportedLine {
    let zone = try members.zone("zone")
    let replica = try members.identifier("replica", as: ReplicaID.self)
    let lane = StoreIdentity(replica: replica, epoch: try members.integer("epoch"))
    let formerReplica = try members.identifier("formerReplica", as: ReplicaID.self)
    let former = StoreIdentity(replica: formerReplica, epoch: try members.integer("formerEpoch"))
    let first: UInt64 = try members.integer("first")
    guard first > 0, first < .max else { throw members.wrong("first", "a sequence, from 1,") }
    let count: UInt64 = try members.integer("count")
    guard count <= .max - first else { throw members.wrong("count", "a count of sequences") }
    var branch: Base?
    if !members.isMissing("place") {
      var found = try members.members("place")
      branch = try found.base(offsetMax: Limits.placeMax)
      try found.finish()
    }
    return .line(
      .reissued(
        ExportedReissue(
          zone: zone, lane: lane, former: former, first: first, count: count, branch: branch,
          milliseconds: try members.integer("issued"))))
  }
}

extension ImportedTransaction {
  /// No clock shows a greater number, so a time of arrival can be used in sums.
  private static let arrivalMax: Int64 = 1 << 53

  fileprivate init(_ members: inout JSONMembers) throws(JSONError) {
    arrivedMilliseconds = try members.integer("arrived")
    guard -Self.arrivalMax...Self.arrivalMax ~= arrivedMilliseconds else {
      throw members.wrong("arrived", "milliseconds since 1970")
    }
    let expected = try members.hash("sha256")
    // The position is only for people.
    _ = try members.integer("position", as: UInt64.self)
    _ = try members.stringIfPresent("time")
    let path = members.path
    if let text = try members.stringIfPresent("bytes") {
      guard let data = Data(base64Encoded: text) else { throw members.wrong("bytes", "base64") }
      let decoded = try Self.checked(path) { () throws(FormatError) in
        try LogTransaction(decoding: data.bytes)
      }
      let zone = members.isMissing("zone") ? nil : try members.zone("zone")
      guard zone?.name ?? decoded.zone.name == decoded.zone.name else {
        throw members.wrong("zone", "the zone that the bytes name, “\(decoded.zone.name)”")
      }
      transaction = decoded.seen(inLogOf: zone ?? decoded.zone)
    } else {
      transaction = try LogTransaction(&members)
    }
    let bytes = try Self.checked(path) { [transaction] () throws(FormatError) in try transaction.encoded() }
    let found = ContentHash(of: bytes.span.bytes)
    guard found == expected else {
      throw JSONError(
        in: members.path, "the line was changed: its bytes have the SHA-256 \(found), not \(expected)")
    }
  }

  /// Runs a decoder, and turns its error into one of the line.
  private static func checked<R>(
    _ path: String, _ body: () throws(FormatError) -> R
  ) throws(JSONError) -> R {
    do {
      return try body()
    } catch {
      throw JSONError(in: path, "this is not a transaction: \(error)")
    }
  }
}
