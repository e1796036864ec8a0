/// The state of a zone at an offset of its log.
struct Snapshot: Hashable {
  /// The log up to there.
  let log: Int
  let state: ZoneState
}
