import EventStore
import OperationFormat

/// Texts for people: safe for a terminal whatever the data contains, and short if requested.
enum Display {
  /// A text of the user's data on one line. It escapes characters that control a terminal or that look like
  /// the end of the text.
  static func plain(_ text: String, limit: Int = .max) -> String {
    var shown = ""
    for (index, character) in text.enumerated() {
      guard index < limit else { return shown + "…" }
      for scalar in character.unicodeScalars { append(scalar, to: &shown, quote: false) }
    }
    return shown
  }

  /// Like ``plain(_:limit:)``, in quotes.
  static func quoted(_ text: String, limit: Int = .max) -> String {
    var shown = "\""
    for (index, character) in text.enumerated() {
      guard index < limit else { return shown + "\"…" }
      for scalar in character.unicodeScalars { append(scalar, to: &shown, quote: true) }
    }
    return shown + "\""
  }

  static func name(_ name: Name) -> String { plain(name.rawValue) }

  static func record(_ id: RecordID) -> String { plain(id.description) }

  static func zone(_ id: ZoneID) -> String { plain(id.description) }

  /// An option with its value, for a shell. A value that starts with a hyphen must not look like another
  /// option.
  static func option(_ name: String, _ value: String) -> String {
    name + (value.hasPrefix("-") ? "=" : " ") + value.argument
  }

  /// The text about a record that a cascade hides.
  ///
  /// - Parameter missing: the record that does not exist and to which cascades lead.
  static func hidden(with missing: RecordID) -> String {
    "is hidden: cascades lead from it to \(record(missing)), which is not there"
  }

  /// The text about a record that compaction has dropped.
  static func dropped(at floor: UInt64) -> String { "was dropped by the floor at offset \(floor)" }

  /// Where a record is that was moved away from where it was asked for.
  static func moved(to place: RecordPlace) -> String {
    switch place {
    case .here(let record): "It is now \(Self.record(record))."
    case .elsewhere(let record): "Moves lead to \(Self.record(record)), which this store does not have."
    case .nowhere(let record): "Moves lead to \(Self.record(record)), which does not exist."
    }
  }

  /// The first digits of an identity: enough to distinguish the replicas of a zone.
  static func short(_ replica: ReplicaID) -> String { String(replica.description.prefix(8)) }

  static func short(_ incarnation: IncarnationID) -> String { String(incarnation.description.prefix(8)) }

  /// Who made a transaction: `9c1f03aa`, or `9c1f03aa.1` if the epoch is not 0. Copies of a store have the
  /// same identity, but other epochs.
  static func writer(_ id: TransactionID) -> String {
    id.epoch == 0 ? short(id.replica) : "\(short(id.replica)).\(id.epoch)"
  }

  /// `9c1f03aa.0.12`: replica, epoch, sequence.
  static func short(_ id: TransactionID) -> String { "\(short(id.replica)).\(id.epoch).\(id.sequence)" }

  /// When something was made, or `unknown time`: where a snapshot stands for the transaction that made it, the store may
  /// not know.
  static func time(_ timestamp: Timestamp) -> String { knownTime(timestamp) ?? "unknown time" }

  /// When something was made; nil if it is not known.
  static func knownTime(_ timestamp: Timestamp) -> String? {
    timestamp.rawValue == 0 ? nil : CalendarTime.text(milliseconds: timestamp.milliseconds)
  }

  /// `at position 12, 2026-01-31T09:05:00.000Z, with the snapshot at offset 7`: where the history of a zone begins that
  /// begins with a snapshot. Where that came before all that the log has, its place in the remote log says it alone.
  static func begin(_ origin: StoreInformation.Origin) -> String {
    let time = origin.arrivedMilliseconds.map { CalendarTime.text(milliseconds: $0) }
    let snapshot = "with the snapshot at offset \(origin.offset)"
    guard origin.position > .start else {
      return snapshot + (time.map { ", which came here at \($0)" } ?? "")
    }
    return "at position \(origin.position)\(time.map { ", \($0)" } ?? ""), \(snapshot)"
  }

  /// What a store does not know that begins a zone with a snapshot: its log had what was before and was retired, or never
  /// had it.
  static let notBeforeSnapshot = "this store does not have what was before"

  /// A number with separated thousands: `1,234,567`.
  static func count(_ number: some BinaryInteger) -> String {
    var digits = Array(String(number))
    var place = digits.count - 3
    while place > (number < 0 ? 1 : 0) {
      digits.insert(",", at: place)
      place -= 3
    }
    return String(digits)
  }

  /// `1 record`, `2 records`.
  static func count(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
    "\(count(number)) \(number == 1 ? noun : plural ?? noun + "s")"
  }

  /// The first names of a list, and the number of the others: `a, b and 3 more`.
  static func list(_ names: [String], max: Int) -> String {
    let shown = names.prefix(max).joined(separator: ", ")
    return names.count > max ? "\(shown) and \(count(names.count - max)) more" : shown
  }

  /// A duration in a suitable unit: `340 ms`, `2.1 s`, `5.0 min`, `3.0 h`, `2.0 d`.
  static func duration(milliseconds: UInt64) -> String {
    let units: [(String, UInt64)] = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)]
    guard let (unit, size) = units.first(where: { milliseconds >= $0.1 }) else { return "\(milliseconds) ms" }
    let tenths = milliseconds / (size / 10)
    return "\(count(tenths / 10)).\(tenths % 10) \(unit)"
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout String, quote: Bool) {
    switch scalar {
    case "\n": text += "\\n"
    case "\t": text += "\\t"
    case "\r": text += "\\r"
    case "\"" where quote, "\\" where quote: text += "\\\(scalar)"
    default:
      // Control characters can control the terminal; format characters, such as bidirectional overrides, can
      // make a text look like another.
      switch scalar.properties.generalCategory {
      case .format where scalar == "\u{200D}": text.unicodeScalars.append(scalar)
      case .control, .format, .lineSeparator, .paragraphSeparator:
        text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
