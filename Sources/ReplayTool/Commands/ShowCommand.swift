import ArgumentParser
import EventStore

/// `replay show`: shows one whole transaction.
struct ShowCommand: StoreCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows one whole transaction.",
    discussion: "Example: replay show notes.store 12 --bytes")

  @OptionGroup var store: StoreOptions

  @Argument(help: "The transaction's position in the log, as `replay log` prints it.")
  var position: UInt64

  @Flag(help: "Also print the transaction's bytes, as they are sent to other replicas, with offsets.")
  var bytes = false

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let opened = try store.openForReading(console)
    defer { opened.close() }
    try opened.read { transaction in
      let position = try Inputs.position(position, in: transaction)
      let entry = try transaction.entry(at: position)
      let shown = Shown(
        entry: entry, bytes: try transaction.bytes(at: position),
        placement: try transaction.placement(of: entry.transaction.id, in: entry.transaction.zone),
        writer: try transaction.writtenHere(in: entry.transaction.zone).writer(of: entry.transaction.id))
      if store.json {
        try console.output.line(shown.json(withBytes: bytes))
      } else {
        try shown.print(console.output, withBytes: bytes)
      }
    }
    return nil
  }
}

/// One transaction and what the store knows about it.
private struct Shown {
  let entry: LogEntry
  let bytes: [UInt8]
  let placement: Placement?
  let writer: WrittenHere.Writer

  private var hash: ContentHash { ContentHash(of: bytes.span.bytes) }

  func json(withBytes: Bool) -> JSON {
    var members = entry.jsonMembers
    members["placement"] = placement?.json
    members["byteCount"] = .number(bytes.count)
    members["sha256"] = .text(hash)
    if withBytes { members["bytes"] = .string(Hexadecimal.text(bytes)) }
    return .object(members)
  }

  func print(_ output: Output, withBytes: Bool) throws {
    let transaction = entry.transaction
    var columns = Columns(output)
    func row(_ name: String, _ text: String?) throws {
      if let text { try columns.add([.init(name, .quiet), .init(text)]) }
    }
    try row("position", "\(entry.position)")
    let maker =
      switch writer {
      case .thisStore: ", made by this store"
      case .copy: ", made by a copy of this store"
      case .other: ""
      }
    try row("transaction", "\(transaction.id)\(maker)")
    try row("zone", Display.zone(transaction.zone))
    try row("time", "\(Display.time(transaction.timestamp)), counter \(transaction.timestamp.counter)")
    try row("arrived", CalendarTime.text(milliseconds: entry.arrivedMilliseconds))
    try row("author", transaction.author.map { Display.plain($0) })
    try row("label", transaction.label.map { Display.plain($0) })
    try row("schema", transaction.schemaVersion.map { "\($0)" })
    try row("write", transaction.writeID.map { Hexadecimal.text($0, digits: 16) })
    try row(
      "had seen", transaction.base.map { "offset \($0.offset) of incarnation \($0.incarnation)" } ?? "nothing"
    )
    try row("continues", transaction.parent.map { "\($0)" })
    try row("place", placementText)
    try row("bytes", "\(Display.count(bytes.count)), SHA-256 \(hash)")
    try columns.flush()
    try output.line()
    try printOperations(output)
    guard withBytes else { return }
    try output.line()
    try HexDump.forEachLine(of: bytes) { try output.line($0) }
  }

  private var placementText: String {
    guard let placement else { return writer == .thisStore ? "pending" : "in no present remote log" }
    let received = placement.receivedMilliseconds.map { ", received \(CalendarTime.text(milliseconds: $0))" }
    return "offset \(placement.offset) of incarnation \(placement.incarnation)\(received ?? "")"
  }

  private func printOperations(_ output: Output) throws {
    var columns = Columns(output)
    for (index, operation) in entry.transaction.operations.enumerated() {
      try columns.add(
        [.init("\(index)", .quiet, right: true)] + OperationText.cells(operation).map { .init($0) })
    }
    try columns.flush()
  }
}
