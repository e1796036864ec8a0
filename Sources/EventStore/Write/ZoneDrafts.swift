import OperationFormat

/// The transactions in the making of one write: one for each zone that it touched. The next write uses the
/// objects again.
struct ZoneDrafts {
  /// Those of this write, then unused ones.
  private var all: [ZoneDraft] = []
  private var count = 0
  /// The draft whose context the fold has.
  var focused: ZoneDraft?

  /// Those of this write, in the order of their zones' first use.
  var used: ArraySlice<ZoneDraft> { all[..<count] }

  func draft(of zone: ZoneNumber) -> ZoneDraft? {
    for draft in used where draft.zone == zone { return draft }
    return nil
  }

  /// The first draft of the write before, if its zone is this one and nothing that it read has changed.
  mutating func reuseFirst(for zone: ZoneID, _ version: Int) -> ZoneDraft? {
    guard count == 0, let first = all.first, first.target.version == version, first.isOf(zone) else {
      return nil
    }
    count = 1
    return first
  }

  mutating func add(_ zone: ZoneID, _ target: ZoneDraft.Target) -> ZoneDraft {
    if count == all.count { all.append(ZoneDraft()) }
    let draft = all[count]
    draft.begin(zone, target)
    count += 1
    return draft
  }

  /// Removes what the write has done in a zone that it deletes.
  func remove(of zone: ZoneNumber) {
    for draft in used where draft.zone == zone { draft.removeAll() }
  }

  mutating func removeAll() {
    for draft in used { draft.removeOperations() }
    count = 0
    focused = nil
  }
}
