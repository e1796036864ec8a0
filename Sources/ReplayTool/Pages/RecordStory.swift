import EventStore

/// Prints the short form of an explanation: a record's existence and each field, who made it and what lost to
/// it.
struct RecordStory {
  let output: Output
  let existence: Explanation
  /// What the app has declared of the record's fields.
  let declaration: (Name) -> QueryField?
  private var makers = HeadMakers()

  init(output: Output, existence: Explanation, declaration: @escaping (Name) -> QueryField?) {
    (self.output, self.existence, self.declaration) = (output, existence, declaration)
  }

  /// How many heads of a cell are printed.
  private static let headsMax = 12

  mutating func print(_ transaction: borrowing ReadTransaction) throws {
    let record = existence.record
    let state =
      existence.isVisible
      ? output.styled("is there", .winner)
      : output.styled(existence.missingTarget.map(Display.hidden(with:)) ?? existence.gone, .loser)
    try output.line(output.styled(Display.record(record), .heading) + "  " + state)
    try output.line()
    var columns = Columns(output, indent: 2)
    try add(
      "existence", existence.heads.map(\.head), showsAll: existence.agrees, to: &columns, transaction)
    for field in try transaction.fieldsWithEmptied(of: record) {
      var isEmpty = true
      let declared = declaration(field)
      if let declared, declared.mergesMembers {
        let members = try transaction.allHeads(of: field, in: record, as: .map)
        let items = try transaction.allHeads(of: field, in: record, as: .list)
        isEmpty = items.isEmpty
        try add(Display.name(field), items, ChangedMembers(members), to: &columns, transaction)
      }
      let declaredKind = declared?.kind
      let others = FieldKind.allCases.filter { $0 != declaredKind }
      for kind in [declaredKind].compactMap(\.self) + others {
        if let declared, declared.mergesMembers, kind == .list || kind == .map { continue }
        let heads = try transaction.allHeads(of: field, in: record, as: kind)
        if !heads.isEmpty { isEmpty = false }
        let name = declaredKind == nil || kind == declaredKind ? Display.name(field) : "  also \(kind)"
        try add(name, heads, showsAll: kind.words.showsAllHeads, to: &columns, transaction)
      }
      if isEmpty {
        try columns.add([.init(Display.name(field), .quiet), .init(""), .init("is empty", .quiet)])
      }
    }
    try columns.flush()
    try output.line()
    if existence.droppedAt != nil, existence.heads.isEmpty {
      try output.line(
        "Nothing of it is left, but for the numbers by which writers count the units of lists and texts.")
      try output.line()
    }
    if let place = existence.movedTo {
      try output.line(Display.moved(to: place))
      try output.line()
    }
    if let origin = existence.movedFrom {
      try output.line("It was moved here from \(Display.record(origin)), where its story begins.")
      try output.line()
    }
    let hint = "For the whole history name a field, or give --existence."
    try output.line(output.styled(hint, .quiet))
  }

  /// Adds the elements of a list whose members merge, each with its members that were changed.
  private mutating func add(
    _ name: String, _ items: [CellHead], _ members: ChangedMembers, to columns: inout Columns,
    _ transaction: borrowing ReadTransaction
  ) throws {
    var (left, count) = (items[...], 0)
    while let item = left.first, count < Self.headsMax {
      let ofElement = left.prefix { $0.content.element == item.content.element }
      left = left.dropFirst(ofElement.count)
      try add(count == 0 ? name : "", Array(ofElement), to: &columns, transaction) { content in
        guard case .item(_, let value) = content else { return HeadText.content(content) }
        return Display.value(members.merged(value))
      }
      count += 1
      guard case .item(_, let value) = item.content else { continue }
      try add("", members.heads(of: value), to: &columns, transaction) { "  " + ChangedMembers.text($0) }
    }
    if !left.isEmpty {
      try columns.add([.init(""), .init(""), .init("… \(left.count) more", .quiet)])
    }
  }

  private mutating func add(
    _ name: String, _ heads: [CellHead], showsAll: Bool = false, to columns: inout Columns,
    _ transaction: borrowing ReadTransaction,
    text: (CellHead.Content) -> String = { HeadText.content($0) }
  ) throws {
    for (index, head) in heads.prefix(Self.headsMax).enumerated() {
      let maker = try makers.maker(of: head, in: existence.record.zone, transaction)
      // The heads of one key or element are together, greatest first.
      func isOfSameCell(_ other: Int) -> Bool {
        heads.indices.contains(other) && heads[other].content.element == head.content.element
      }
      let isLoser = !showsAll && isOfSameCell(index - 1)
      let role = isLoser ? "lost" : !showsAll && isOfSameCell(index + 1) ? "won" : ""
      let missing =
        try isLoser || transaction.nullifiedTargets([head.content], in: existence.record.zone).isEmpty
        ? "" : ", reads as missing"
      try columns.add([
        .init(index == 0 ? name : "", .quiet), .init(role, isLoser ? .loser : .winner),
        .init(text(head.content) + missing), .init(maker.author ?? "-"),
        .init(Display.writer(maker.transaction), .quiet), .init(Display.time(head.timestamp), .quiet),
        .init(maker.place, .quiet),
      ])
    }
    if heads.count > Self.headsMax {
      try columns.add([.init(""), .init(""), .init("… \(heads.count - Self.headsMax) more", .quiet)])
    }
  }
}

extension Explanation {
  /// Why the record is not there, in words.
  var gone: String {
    for head in heads {
      if case .moved = head.head.content { return "was \(HeadText.content(head.head, limit: nil))" }
    }
    return droppedAt.map(Display.dropped) ?? "is deleted"
  }
}
