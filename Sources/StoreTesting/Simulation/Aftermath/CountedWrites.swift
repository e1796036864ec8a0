import OperationFormat

/// The writes of an event to one record, counted: at its end all of them are there, each once.
final class CountedWrites<Event: AftermathEvent> {
  private let event: Event
  private let record: Name
  private let zone: ZoneID
  private var count = 0

  init(_ event: Event, _ record: Name, _ zone: ZoneID) {
    (self.event, self.record, self.zone) = (event, record, zone)
  }

  func write(_ device: SimulatedDevice) throws {
    try event.write("\(count),", to: "value", of: record, in: zone, on: device)
    count += 1
  }

  func check(after what: String) throws {
    try event.agreement.checkWrites(count, of: record, in: zone, after: what)
  }
}
