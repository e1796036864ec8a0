import EventStore

/// A head of a cell as people read it.
enum HeadText {
  struct Maker {
    var transaction: TransactionID
    /// Safe to print.
    var author: String?
    var position: Position?

    /// Where to look on: `position 12`.
    var place: String { position.map { "position \($0)" } ?? "no more in the log" }
  }

  static func content(_ head: CellHead, limit: Int? = 40) -> String { content(head.content, limit: limit) }

  static func content(_ content: CellHead.Content, limit: Int? = 40) -> String {
    switch content {
    case .value(let value): Display.value(value, limit: limit)
    case .contribution(let value): "\(Display.value(value, limit: limit)) added"
    case .element(let value): Display.value(value, limit: limit)
    case .text(let text): Display.value(.string(text), limit: limit)
    case .item(_, let value): Display.value(value, limit: limit)
    case .entry(let key, let value): "\(Display.name(key)) = \(Display.value(value, limit: limit))"
    case .alive(let type): "alive as \(Display.name(type))"
    case .dead: "deleted"
    case .moved(let place): "moved to \(Display.record(place))"
    }
  }

  /// Who made a head.
  static func maker(
    of head: CellHead, in zone: ZoneID, _ transaction: borrowing ReadTransaction
  ) throws -> Maker {
    let id = head.operation.transaction
    guard let position = try transaction.position(of: id, in: zone) else { return Maker(transaction: id) }
    let author = try transaction.entry(at: position).transaction.author
    return Maker(transaction: id, author: author.map { Display.plain($0) }, position: position)
  }
}
