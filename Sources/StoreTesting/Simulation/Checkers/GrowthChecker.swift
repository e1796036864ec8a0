import EventStore

/// Checks that a data file is at most some times as large as its contents need: invariant 15.
enum GrowthChecker {
  /// A file of few transactions: some pages a table, and as many again that wait to be used.
  private static let fileBytesMin = 1 << 20
  private static let fileBytesFactor = 8

  static func check(_ device: SimulatedDevice, _ store: LocalStore) throws {
    // Pages that were replaced while a read was open could not be used again.
    if device.hasHeldRead { return }
    let fileBytes = try store.information().fileBytes
    let bytes = device.view.loggedBytes
    guard fileBytes > fileBytesMin + fileBytesFactor * bytes else { return }
    throw SimulationFailure(
      .growthIsBounded,
      "d\(device.number)'s file has \(fileBytes) bytes for \(bytes) bytes of transactions that it ever had")
  }
}
