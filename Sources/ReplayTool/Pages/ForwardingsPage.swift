import EventStore

/// Prints the result of `replay state --moved`: which records moved away, and where they are now.
struct ForwardingsPage {
  let output: Output
  let printsJSON: Bool
  let isInterrupted: () -> Bool
  /// The most records that are printed.
  let limit: Int

  func print(_ zones: [ZoneID], _ transaction: borrowing ReadTransaction) throws {
    var columns = Columns(output)
    var count = 0
    for zone in zones {
      try transaction.forEachForwarding(in: zone) { forwarding in
        if isInterrupted() { throw Interrupted() }
        count += 1
        // For people, the others are counted.
        guard count <= limit else { return !printsJSON }
        if printsJSON {
          try output.line(forwarding.json)
        } else {
          try columns.add([
            .init(Display.record(forwarding.from)), .init(Display.record(forwarding.to)),
            .init(Self.now(forwarding), .quiet),
          ])
        }
        return true
      }
    }
    try columns.flush()
    if printsJSON { return }
    if count == 0 { try output.line(output.styled("no record has moved away", .quiet)) }
    guard count > limit else { return }
    let rest = "… and \(Display.count(count - limit, "more record")): --limit \(count) or --json shows all"
    try output.line(output.styled(rest, .quiet))
  }

  /// What is to be said besides where it was moved.
  private static func now(_ forwarding: Forwarding) -> String {
    let onward =
      forwarding.place.record == forwarding.to ? "" : "now \(Display.record(forwarding.place.record)), "
    return switch forwarding.place {
    case .here: String(onward.dropLast(2))
    case .elsewhere: onward + "not in this store"
    case .nowhere: onward + "does not exist"
    }
  }
}

extension Forwarding {
  /// `{"movedTo":"zone:name","place":{…},"record":"zone:name"}`.
  fileprivate var json: JSON {
    .object(["record": .text(from), "movedTo": .text(to), "place": place.json])
  }
}
