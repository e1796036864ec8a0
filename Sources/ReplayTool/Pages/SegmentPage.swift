import EventStore
import OperationFormat

/// Prints the result of `replay segment`: the header's fields, its chain, then the transactions.
struct SegmentPage {
  private static let labelCharactersMax = 46

  let file: SegmentFile
  let showsOperations: Bool

  func print(_ output: Output) throws {
    var columns = Columns(output)
    func row(_ name: String, _ text: String) throws {
      try columns.add([.init(name, .quiet), .init(text)])
    }
    if let envelope = file.envelope {
      let received = envelope.receivedMilliseconds.map {
        ", received \(CalendarTime.text(milliseconds: $0))"
      }
      try row("place", "offset \(envelope.offset)\(received ?? "")")
      try row("chain", envelope.chain.map { "\($0)" } ?? "not stated")
    }
    if let seal = file.seal {
      try row("place", "offset \(seal.offset)")
      try row("seal", Self.text(seal.kind))
    }
    if let tombstone = file.tombstone {
      try row("place", "offset \(tombstone.offset)")
      try row(tombstone.passesSeal ? "made again" : "given up", Self.text(tombstone))
    }
    if let header = file.header { try printHeader(header, row) }
    try columns.flush()
    try printTransactions(output)
    try printProblem(output)
  }

  static func text(_ kind: LogSeal.Kind) -> String {
    switch kind {
    case .deleted: "the zone was deleted"
    case .purged: "the remote discarded the zone"
    case .reset: "the remote discarded the zone, and asks stores to send everything again"
    }
  }

  static func text(_ tombstone: LogTombstone) -> String {
    if tombstone.passesSeal { return "the log had ended there, and continues" }
    let what = tombstone.content.map { "\(Display.count($0.byteCount, "byte")) that nobody could read" }
    let note = tombstone.note.isEmpty ? "" : ": \(Display.quoted(tombstone.note))"
    let time = CalendarTime.text(milliseconds: tombstone.milliseconds)
    return "\(time), \(what ?? "a hole in the log")\(note)"
  }

  private func printHeader(_ header: SegmentHeader, _ row: (String, String) throws -> Void) throws {
    try row("zone", Display.zone(header.zone))
    try row("incarnation", "\(header.incarnation)")
    try row("replica", "\(header.replica), epoch \(header.epoch)")
    let sequences = header.sequences
    let operations = header.isSealed ? "" : "\(Display.count(header.operationCount, "operation")), "
    try row(
      "holds",
      "\(Display.count(header.transactionCount, "transaction")), " + operations
        + (sequences.count == 1
          ? "sequence \(sequences.lowerBound)"
          : "sequences \(sequences.lowerBound) to \(sequences.upperBound)"))
    try printBody(header, row)
    let proof = header.version == 1 ? "" : "chain "
    try row("had seen", header.base == 0 ? "nothing" : "offset \(header.base), \(proof)\(header.baseProof)")
    try row("previous", header.previousHash == .zero ? "none" : "\(header.previousHash)")
    if let device = header.device { try row("signed", "by device \(device), not checked") }
    if let former = header.former {
      try row("before", "offset \(former.offset) of incarnation \(former.incarnation)")
    }
  }

  private func printBody(_ header: SegmentHeader, _ row: (String, String) throws -> Void) throws {
    if header.isSealed {
      try row("body", "\(Display.count(header.packedBytes, "byte")), sealed with key \(header.keyID)")
      return try row("content", "HMAC \(header.contentHash)")
    }
    let (least, greatest) = (header.timestamps.lowerBound, header.timestamps.upperBound)
    try row(
      "time", least == greatest ? Display.time(least) : "\(Display.time(least)) to \(Display.time(greatest))")
    let unpacked = Display.count(header.unpackedBytes, "byte")
    try row(
      "body",
      header.codec == .none
        ? unpacked : "\(unpacked), packed to \(Display.count(header.packedBytes)) by Zstandard")
    try row("content", "SHA-256 \(header.contentHash)")
  }

  private func printTransactions(_ output: Output) throws {
    guard !file.transactions.isEmpty else { return }
    try output.line()
    var columns = Columns(output)
    for transaction in file.transactions {
      try columns.add(
        [
          .init("\(transaction.sequence)", right: true), .init(Display.time(transaction.timestamp), .quiet),
          .init(transaction.author.map { Display.plain($0) } ?? "-"),
          .init(transaction.label.map { Display.plain($0, limit: Self.labelCharactersMax) } ?? "-"),
          .init(Display.count(transaction.operations.count, "operation"), .quiet),
        ],
        below: showsOperations ? transaction.operations.map { "    " + OperationText.line($0) } : [])
    }
    try columns.flush()
  }

  private func printProblem(_ output: Output) throws {
    guard let problem = file.problem else { return }
    if file.envelope != nil || file.header != nil { try output.line() }
    let error = problem.error
    let word =
      switch error.code {
      case .newerFormat: "newer than this program"
      case .damaged, .truncated, .trailingBytes: "damaged"
      case .keyUnknown: "sealed"
      case .signatureMissing: "not signed"
      default: "not as the format asks"
      }
    let place = "byte \(Display.count(error.offset)) of the \(problem.isInBody ? "unpacked body" : "file")"
    try output.line("\(output.styled(word, .loser)), at \(place)")
    try output.line("\(error.subject): expected \(error.expected), found \(error.found) (\(error.code))")
    try output.line(error.hint)
  }
}
