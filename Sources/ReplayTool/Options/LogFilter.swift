import ArgumentParser
import EventStore

/// Selects the transactions of a log that a command prints.
struct LogFilter: ParsableArguments {
  @Option(help: ArgumentHelp("Only this zone.", valueName: "zone"))
  var zone: String?

  @Option(
    help: ArgumentHelp(
      "Only transactions that change this record: zone:name, or a name in the zone of --zone or in any zone.",
      valueName: "record"))
  var record: String?

  @Option(help: ArgumentHelp("Only replicas whose identity starts with this.", valueName: "prefix"))
  var replica: String?

  @Option(help: ArgumentHelp("Only this author.", valueName: "author"))
  var author: String?

  @Option(
    help: ArgumentHelp(
      "Only from this time on, such as 2026-01-31 or 2026-01-31T09:05:00Z.", valueName: "time"))
  var since: String?

  @Option(help: ArgumentHelp("Only before this time.", valueName: "time"))
  var until: String?

  @Option(parsing: .unconditional, help: ArgumentHelp("Only after this position.", valueName: "position"))
  var after: UInt64 = 0
}

extension LogFilter {
  /// The filter, parsed and checked.
  struct Resolved {
    /// The zone to read; nil for all.
    var zone: ZoneID?
    /// The record, if its zone is known.
    var record: RecordID?
    /// The record's name in any zone.
    var recordName: Name?
    var replicaPrefix: String?
    var author: Name?
    var since: Int64?
    var until: Int64?
    var after: Position

    func matches(_ transaction: LogTransaction) -> Bool {
      if let zone, transaction.zone != zone { return false }
      if let author, transaction.author.map(Name.init(rawValue:)) != author { return false }
      if let replicaPrefix, !transaction.replica.description.hasPrefix(replicaPrefix) { return false }
      let milliseconds = Int64(transaction.timestamp.milliseconds)
      if let since, milliseconds < since { return false }
      if let until, milliseconds >= until { return false }
      if let recordName, !transaction.operations.contains(where: { $0.record == recordName }) { return false }
      return true
    }
  }

  func resolved() throws -> Resolved {
    var resolved = Resolved(after: Position(rawValue: after))
    resolved.zone = try zone.map(Inputs.zone)
    if let record {
      if resolved.zone == nil, record.contains(":") {
        resolved.record = try Inputs.record(record)
        resolved.zone = resolved.record?.zone
      } else {
        resolved.record = resolved.zone.map { RecordID(zone: $0, name: Name(record)) }
      }
      resolved.recordName = resolved.record?.name ?? Name(record)
    }
    if let replica {
      let prefix = replica.lowercased()
      guard prefix.utf8.count <= 32, prefix.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
        throw ToolError.input(
          "replicaInvalid", "“\(Display.plain(replica))” is not the start of a replica's identity",
          hint: "give up to 32 hexadecimal digits, as printed by `replay info`")
      }
      resolved.replicaPrefix = prefix
    }
    resolved.author = author.map { Name($0) }
    resolved.since = try since.map(Inputs.milliseconds)
    resolved.until = try until.map(Inputs.milliseconds)
    return resolved
  }
}
