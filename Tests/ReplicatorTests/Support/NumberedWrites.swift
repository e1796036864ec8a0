import EventStore
import OperationFormat

/// The record that every numbered write changes.
let sharedNote = RecordID(zone: zone, name: "shared")

extension Device {
  /// Creates a record that is named by a number, and changes the shared one: a counter and a text there show which
  /// writes are there, and how often.
  func write(_ number: Int) async throws {
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      try tx.create(RecordID(zone: zone, name: Name("\(number)")), type: "note")
      if try !tx.contains(sharedNote) { try tx.create(sharedNote, type: "note") }
      try tx.set("milk", of: sharedNote, to: .int(Int64(number)))
      try tx.add(.int(1), to: "count", of: sharedNote)
      try tx.insertText("\(number),", at: 0, in: "body", of: sharedNote)
    }
  }
}
