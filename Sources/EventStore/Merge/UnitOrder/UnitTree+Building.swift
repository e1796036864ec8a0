import OperationFormat

/// Writing all rows at once, of units that are compacted.
extension UnitTree where Storage: RunStorage {
  /// Writes all rows in the order of their keys, as full as they may be. There must be none.
  ///
  /// - Parameters:
  ///   - whole: all units that stay, in one leaf of any length.
  ///   - made: how many units each inserter has made. Those that are not in the leaf are dropped.
  mutating func build(_ whole: Leaf, _ made: [(Inserter, UInt64)]) throws {
    var places: [Inserter: [PlaceRow.Entry]] = [:]
    if !whole.pieces.isEmpty {
      let leaves = whole.cut(changed: whole.pieces.count - 1, bytesMax: limits.compactedRowBytesMax)
      try build(leaves)
      for (index, leaf) in leaves.enumerated() {
        for piece in leaf.pieces {
          let entry = PlaceRow.Entry(number: piece.first.number, leaf: NodeNumber(index + 1))
          places[piece.first.inserter, default: []].append(entry)
        }
      }
    }
    for (inserter, end) in made where end > 0 {
      var entries = [PlaceRow.Entry(number: 0, leaf: PlaceRow.dropped)]
      for entry in (places[inserter] ?? []).sorted(by: { $0.number < $1.number })
      where entry.leaf != entries.last?.leaf {
        if entry.number == 0 { entries.removeAll() }
        entries.append(entry)
      }
      try write(entries, of: inserter)
      root.dropped += end
    }
    root.dropped -= root.units
    for (inserter, end) in made where end > 0 {
      try addMakers(MakerRow.Entry(sequence: 0, index: 0, unitsEach: end, operations: 1), of: inserter)
    }
  }

  /// Writes the nodes. Leaves have the numbers from 1, and nodes of each level those behind the level below.
  private mutating func build(_ leaves: [Leaf]) throws {
    var children: [InnerNode.Child] = []
    var writer = ByteWriter()
    for (index, var leaf) in leaves.enumerated() {
      leaf.parent = parent(of: index, among: leaves.count)
      leaf.append(to: &writer)
      children.append(leaf.asChild(NodeNumber(index + 1)))
      try writeRow(writer, of: children[index].node)
      writer.removeAll()
    }
    (root.lastNode, root.height) = (NodeNumber(children.count), 1)
    while children.count > 1 {
      let below = children
      let starts = Array(stride(from: 0, to: below.count, by: limits.compactedChildrenMax))
      children = []
      for (index, start) in starts.enumerated() {
        let inner = InnerNode(
          parent: parent(of: index, among: starts.count),
          children: Array(below[start...].prefix(limits.compactedChildrenMax)))
        inner.append(to: &writer)
        children.append(inner.asChild(root.lastNode + NodeNumber(index + 1)))
        try writeRow(writer, of: children[index].node)
        writer.removeAll()
      }
      root.lastNode += NodeNumber(children.count)
      root.height += 1
    }
    (root.node, root.units, root.visible) = (children[0].node, children[0].units, children[0].visible)
  }

  /// The node above one of a level whose nodes have the next numbers; 0 for none.
  private func parent(of index: Int, among count: Int) -> NodeNumber {
    count == 1 ? 0 : root.lastNode + NodeNumber(count + 1 + index / limits.compactedChildrenMax)
  }

  private func write(_ entries: [PlaceRow.Entry], of inserter: Inserter) throws {
    var rest = entries[...]
    while !rest.isEmpty {
      var (row, bytes) = prefix(of: rest, bytesMax: limits.compactedRowBytesMax)
      if row.count == rest.count, limits.isBetterHalved(bytes) {
        row = prefix(of: rest, bytesMax: bytes / 2 + 1).row
      }
      var writer = ByteWriter()
      PlaceRow(entries: Array(row)).append(to: &writer)
      let key = keys.places(UnitID(inserter, row[row.startIndex].number))
      try storage.writeRun(writer.span, key.span)
      rest = rest.dropFirst(row.count)
    }
  }

  /// The first entries that fit into a row, and the row's bytes.
  private func prefix(
    of entries: ArraySlice<PlaceRow.Entry>, bytesMax: Int
  ) -> (row: ArraySlice<PlaceRow.Entry>, bytes: Int) {
    var end = entries.startIndex + 1
    var bytes = ByteWriter.varintByteCount(UInt64(entries[end - 1].leaf))
    while end < entries.endIndex {
      let more =
        ByteWriter.varintByteCount(entries[end].number - entries[end - 1].number)
        + ByteWriter.varintByteCount(UInt64(entries[end].leaf))
      if bytes + more > bytesMax { break }
      bytes += more
      end += 1
    }
    return (entries[..<end], bytes)
  }
}
