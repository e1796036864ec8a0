import Foundation
import Tributary

/// The calendar: one list by date, in which an event stands where it begins and where it ends.
enum AgendaScreen {
  static func lines(of store: Store) throws -> [String] {
    let dates = Event.each(Date.self) { [$0.start, $0.end] }.sorted()
    return try store.fetch(dates).map { entry in
      let day = entry.value.formatted(.iso8601.year().month().day())
      return "\(day)  \(entry.row.title) \(entry.place == 0 ? "begins" : "ends")"
    }
  }
}
