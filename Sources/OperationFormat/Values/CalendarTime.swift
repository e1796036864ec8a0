/// Converts points in time to ISO 8601 in UTC and back, exactly for every 64-bit count of microseconds.
///
/// Years outside of 0 to 9999 have a sign and at least six digits, as ISO 8601 requires. The day count is
/// that of Howard Hinnant's “chrono-compatible low-level date algorithms”.
package enum CalendarTime {
  private static let microsecondsPerDay: Int128 = 86_400_000_000

  /// `2026-01-31T09:05:00.123Z`.
  package static func text(milliseconds: UInt64) -> String {
    text(microseconds: Int128(milliseconds) * 1000, fractionDigits: 3)
  }

  /// The same, for times before and after 1970.
  package static func text(milliseconds: Int64) -> String {
    text(microseconds: Int128(milliseconds) * 1000, fractionDigits: 3)
  }

  /// `2026-01-31T09:05:00.123456Z`.
  package static func text(microseconds: Int64) -> String {
    text(microseconds: Int128(microseconds), fractionDigits: 6)
  }

  private static func text(microseconds: Int128, fractionDigits: Int) -> String {
    var (day, rest) = microseconds.quotientAndRemainder(dividingBy: microsecondsPerDay)
    if rest < 0 {
      day -= 1
      rest += microsecondsPerDay
    }
    let (year, month, dayOfMonth) = date(ofDay: Int64(day))
    let yearText =
      0...9999 ~= year
      ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(year.magnitude, 6)
    let seconds = rest / 1_000_000
    let fraction = padded(rest % 1_000_000, 6).prefix(fractionDigits)
    return "\(yearText)-\(padded(month, 2))-\(padded(dayOfMonth, 2))T\(padded(seconds / 3600, 2))"
      + ":\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2)).\(fraction)Z"
  }

  /// Parses a date, or a date and a time in minutes, seconds or up to microseconds. A time zone may follow:
  /// `Z` or `+02:00`; without one it is UTC.
  ///
  /// - Returns: microseconds since 1970; nil for any other text, or if the number does not fit.
  package static func microseconds(_ text: String) -> Int64? {
    var scanner = Scanner(rest: Array(text.utf8)[...])
    guard let year = scanner.year(), scanner.skip("-"), let month = scanner.digits(2), scanner.skip("-"),
      let day = scanner.digits(2), 1...12 ~= month, 1...daysIn(month, of: year) ~= day
    else { return nil }
    var total = Int128(dayNumber(year, month, day)) * microsecondsPerDay
    if scanner.skip("T") || scanner.skip("t") || scanner.skip(" ") {
      guard let time = scanner.time() else { return nil }
      total += time
      guard let zone = scanner.zone() else { return nil }
      total -= zone
    }
    return scanner.rest.isEmpty ? Int64(exactly: total) : nil
  }

  private static func padded(_ number: some BinaryInteger, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    )
  }

  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  private struct Scanner {
    var rest: ArraySlice<UInt8>

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: scalar) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func digit() -> Int64? {
      guard let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      rest.removeFirst()
      return Int64(byte - UInt8(ascii: "0"))
    }

    mutating func digits(_ count: Int) -> Int64? {
      var value: Int64 = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// Four digits, or a sign and six.
    mutating func year() -> Int64? {
      if skip("+") { return digits(6) }
      return skip("-") ? digits(6).map { -$0 } : digits(4)
    }

    /// Microseconds of the day.
    mutating func time() -> Int128? {
      guard let hour = digits(2), hour < 24, skip(":"), let minute = digits(2), minute < 60 else {
        return nil
      }
      var total = Int128(hour * 60 + minute) * 60_000_000
      guard skip(":") else { return total }
      guard let second = digits(2), second < 60 else { return nil }
      total += Int128(second) * 1_000_000
      guard skip(".") else { return total }
      var unit: Int128 = 100_000
      guard var digit = digit() else { return nil }
      while true {
        guard unit > 0 else { return nil }
        total += Int128(digit) * unit
        unit /= 10
        guard let next = self.digit() else { return total }
        digit = next
      }
    }

    /// Microseconds that the zone is ahead of UTC.
    mutating func zone() -> Int128? {
      if rest.isEmpty || skip("Z") || skip("z") { return 0 }
      let sign: Int128 = skip("-") ? -1 : 1
      guard sign < 0 || skip("+"), let hour = digits(2), hour < 24 else { return nil }
      _ = skip(":")
      guard let minute = digits(2), minute < 60 else { return nil }
      return sign * Int128(hour * 60 + minute) * 60_000_000
    }
  }
}
