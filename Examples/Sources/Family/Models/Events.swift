import Foundation
import Tributary

/// An event of the family's calendar. A list by date has it twice: where it begins, and where it ends.
struct Event: Model {
  static let type: Name = "event"
  let title = Field<String>("title")
  let start = Field<Date>("start")
  let end = Field<Date?>("end")

  static let indexes: [Index] = [Index("dates") { [Each($0.start, $0.end)] }]
}
