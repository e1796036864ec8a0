/// What was found by looking back over a part of a log: the same for each of its offsets.
struct LookBack {
  let zone: ZoneNumber
  let incarnation: IncarnationNumber
  let offsets: ClosedRange<UInt64>
  /// The floor of the part of the log that was asked about: another one leaves out other entries.
  let floor: UInt64
  let found: Bool

  func contains(_ offset: UInt64, of zone: ZoneNumber, _ incarnation: IncarnationNumber) -> Bool {
    offsets.contains(offset) && zone == self.zone && incarnation == self.incarnation
  }
}
