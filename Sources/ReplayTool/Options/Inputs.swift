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

  /// An age in milliseconds: `30d`, `12h`, `90min`, `5s`.
  static func age(_ text: String) throws -> Int64 {
    let units: [(String, UInt64)] = [("min", 60_000), ("d", 86_400_000), ("h", 3_600_000), ("s", 1000)]
    guard let number = number(text, units), number <= UInt64(Int64.max) else {
      throw ToolError.input(
        "ageInvalid", "“\(Display.plain(text))” is not an age", hint: "write it as 30d, 12h, 90min or 5s")
    }
    return Int64(number)
  }

  /// The units of sizes, for the help of options.
  static let sizeHelp =
    "Sizes are in bytes, or in k, M, G or T (kB, MB, GB, TB: powers of 1000) and KiB, MiB, GiB or TiB (powers of 1024), in "
    + "upper or lower case."

  /// A number of bytes: `100MB`, `2GiB`, `500`. The case of the unit does not count, and `k`, `M`, `G` and `T` are `kB`,
  /// `MB`, `GB` and `TB`.
  static func byteCount(_ text: String) throws -> UInt64 {
    var units: [(String, UInt64)] = []
    var (decimal, binary): (UInt64, UInt64) = (1000, 1024)
    for prefix in ["k", "m", "g", "t"] {
      units += [("\(prefix)ib", binary), ("\(prefix)b", decimal), (prefix, decimal)]
      (decimal, binary) = (decimal * 1000, binary * 1024)
    }
    guard let number = number(text.lowercased(), units + [("b", 1), ("", 1)]) else {
      throw ToolError.input(
        "sizeInvalid", "“\(Display.plain(text))” is not a size",
        hint:
          "write it as 500, 20kB, 100MB or 2GiB: a whole number of bytes, or of k, M, G, T, KiB, MiB, GiB or TiB"
      )
    }
    return number
  }

  /// A whole number times the unit at its end.
  private static func number(_ text: String, _ units: [(name: String, factor: UInt64)]) -> UInt64? {
    guard let unit = units.first(where: { text.hasSuffix($0.name) }) else { return nil }
    let digits = text.dropLast(unit.name.count)
    guard !digits.isEmpty, digits.allSatisfy({ "0"..."9" ~= $0 }), let number = UInt64(digits) else {
      return nil
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.factor)
    return overflow ? nil : product
  }

  /// Throws unless the store has the zone.
  ///
  /// - Parameter orOffered: whether one that its remote offers would do too.
  static func check(
    _ zone: ZoneID, in transaction: borrowing ReadTransaction, orOffered: Bool = false
  ) throws {
    // The list of all zones is read only for the message.
    guard try !transaction.hasZone(zone) else { return }
    let (zones, offered) = (try transaction.zones(), try transaction.zones(.offered))
    let hint: String
    if offered.contains(zone) {
      let command = HintPlaces().of(zone).zoneCommand("attach")
      hint = "the remote offers it: \(command) lets the next sync fetch it"
    } else if !zones.isEmpty {
      let others = orOffered && !offered.isEmpty ? ", and its remote offers \(list(offered))" : ""
      hint = "it has \(list(zones))\(others)"
    } else if !offered.isEmpty {
      hint = "it has no zones, and its remote offers \(list(offered))"
    } else {
      hint = "the store has no zones yet"
    }
    throw ToolError("zoneUnknown", "the store has no zone “\(Display.zone(zone))”", hint: hint, exit: .input)
  }

  private static func list(_ zones: [ZoneID]) -> String {
    Display.list(zones.map { Display.zone($0) }, max: 8)
  }

  /// Throws unless the store has the zones, or its remote offers them where those count.
  static func check(
    _ zones: [ZoneID], in transaction: borrowing ReadTransaction, orOffered: Bool
  ) throws {
    let offered = orOffered ? Set(try transaction.zones(.offered)) : []
    for zone in zones where !offered.contains(zone) {
      try check(zone, in: transaction, orOffered: orOffered)
    }
  }
}
