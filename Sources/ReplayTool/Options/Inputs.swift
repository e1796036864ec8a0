import EventStore

/// Parses the user's arguments.
enum Inputs {
  static func zone(_ text: String) throws -> ZoneID {
    guard let zone = ZoneID(text) else {
      throw ToolError.input(
        "zoneInvalid", "“\(Display.plain(text))” does not name a zone",
        hint: "write it as name or owner/name, as `replay info` prints it")
    }
    return zone
  }

  static func record(_ text: String) throws -> RecordID {
    guard let record = RecordID(text) else {
      throw ToolError.input(
        "recordInvalid", "“\(Display.plain(text))” does not name a record",
        hint: "write it as zone:record-name, as `replay state` prints it")
    }
    return record
  }

  /// An element of a set or a key of a map: a value in JSON, or a text.
  static func element(_ text: String?) -> Value? {
    guard let text else { return nil }
    do throws(JSONError) {
      return try Value(JSONScanner.read(Array(text.utf8)), in: "")
    } catch {
      return .string(text)
    }
  }

  static func position(_ number: UInt64, in transaction: borrowing ReadTransaction) throws -> Position {
    let last = try transaction.lastPosition()
    guard number > 0, number <= last.rawValue else {
      throw ToolError(
        "positionUnknown", "the log has no position \(number)",
        hint: last == .start ? "the log is empty" : "the log goes from 1 to \(last)", exit: .input)
    }
    return Position(rawValue: number)
  }

  /// A point in time, in milliseconds since 1970, rounded down.
  static func milliseconds(_ text: String) throws -> Int64 {
    guard let microseconds = CalendarTime.microseconds(text) else {
      throw ToolError.input(
        "timeInvalid", "“\(Display.plain(text))” is not a time",
        hint: "write it as 2026-01-31, 2026-01-31T09:05 or 2026-01-31T09:05:00.123Z; without a zone it is UTC"
      )
    }
    let (quotient, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
    return rest < 0 ? quotient - 1 : quotient
  }

  /// Throws unless the store has the zone.
  static func check(_ zone: ZoneID, in transaction: borrowing ReadTransaction) throws {
    // The list of all zones is read only for the message.
    guard try !transaction.hasZone(zone) else { return }
    let zones = try transaction.zones()
    throw ToolError(
      "zoneUnknown", "the store has no zone “\(Display.zone(zone))”",
      hint: zones.isEmpty
        ? "the store has no zones yet" : "it has \(Display.list(zones.map { Display.zone($0) }, max: 8))",
      exit: .input)
  }
}
