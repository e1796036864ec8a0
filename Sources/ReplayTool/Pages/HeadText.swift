import EventStore

/// The text of a cell's head, for people.
enum HeadText {
  static func content(_ head: CellHead, limit: Int? = 40) -> String { content(head.content, limit: limit) }

  static func content(_ content: CellHead.Content, limit: Int? = 40) -> String {
    switch content {
    case .value(let value): Display.value(value, limit: limit)
    case .addend(let value), .contribution(let value): "\(Display.value(value, limit: limit)) added"
    case .element(let value): Display.value(value, limit: limit)
    case .text(let text): Display.value(.string(text), limit: limit)
    case .item(_, let value): Display.value(value, limit: limit)
    case .entry(let key, let value): "\(Display.name(key)) = \(Display.value(value, limit: limit))"
    case .alive(let type): "alive as \(Display.name(type))"
    case .dead: "deleted"
    case .moved(let place): "moved to \(Display.record(place))"
    }
  }
}

/// Finds who made heads. It keeps the transactions it has read while they are few, because one may have made
/// thousands of heads.
struct HeadMakers {
  struct Maker {
    var transaction: TransactionID
    /// Safe to print.
    var author: String?
    var position: Position?

    /// Where to look for more: `position 12`.
    var place: String {
      position.map { "position \($0)" } ?? (transaction.sequence == 0 ? "compacted" : "no more in the log")
    }
  }

  private var known: [TransactionID: Maker] = [:]

  private static let knownMax = 1024

  mutating func maker(
    of head: CellHead, in zone: ZoneID, _ transaction: borrowing ReadTransaction
  ) throws -> Maker {
    let id = head.operation.transaction
    if let maker = known[id] { return maker }
    var maker = Maker(transaction: id)
    if let position = try transaction.position(of: id, in: zone) {
      let author = try transaction.entry(at: position).transaction.author
      maker.author = author.map { Display.plain($0) }
      maker.position = position
    }
    if known.count >= Self.knownMax { known.removeAll() }
    known[id] = maker
    return maker
  }
}
