import OperationFormat

/// A node of a sequence's tree above its leaves: what lies below it, in the document's order.
///
/// | bytes | what |
/// |---|---|
/// | 1 | 2, an inner node |
/// | 4 | the node above, big-endian, 0 for none |
/// | … | children, from 1: node, count of all units, count of the visible ones, depth and right depth of the least level, varints |
struct InnerNode {
  static let tag: UInt8 = 2

  /// The most that a child takes: a number of 32 bits, four of 40.
  static let childBytesMax = 29

  struct Child: Hashable {
    var node: NodeNumber
    var units: UInt64
    var visible: UInt64
    /// The least level of a unit below it.
    var level: Level
  }

  var parent: NodeNumber
  var children: [Child]

  init(parent: NodeNumber, children: [Child]) {
    self.parent = parent
    self.children = children
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    let tag = try reader.readUInt8("runs.inner")
    guard tag == Self.tag else {
      throw reader.fail(.unknownTag, at: 0, "runs.inner", expected: "\(Self.tag)", found: "\(tag)")
    }
    parent = try reader.readBigEndian("runs.inner.parent", as: UInt32.self)
    children = []
    var units: UInt64 = 0
    repeat {
      let start = reader.position
      let node = try reader.readUInt32Varint("runs.inner.child")
      let all = try reader.readVarint("runs.inner.units", in: 1...UnitOrderLimits.unitsMax)
      let visible = try reader.readVarint("runs.inner.visible", in: 0...all)
      let depth = try reader.readVarint("runs.inner.depth", in: 0...UnitOrderLimits.unitsMax)
      let rightDepth = try reader.readVarint("runs.inner.rightDepth", in: 0...UnitOrderLimits.unitsMax)
      units &+= all
      guard node != 0, units <= UnitOrderLimits.unitsMax else {
        throw reader.fail(
          .invalid, at: start, "runs.inner.child", expected: "a node and at most \(UnitOrderLimits.unitsMax)",
          found: "node \(node), \(units) units")
      }
      let level = Level(depth: depth, rightDepth: rightDepth)
      children.append(Child(node: node, units: all, visible: visible, level: level))
    } while reader.remaining > 0
  }

  func append(to writer: inout ByteWriter) {
    writer.append(Self.tag)
    writer.append(bigEndian: parent)
    for child in children {
      writer.append(varint: UInt64(child.node))
      writer.append(varint: child.units)
      writer.append(varint: child.visible)
      writer.append(varint: child.level.depth)
      writer.append(varint: child.level.rightDepth)
    }
  }

  var units: UInt64 { children.reduce(0) { $0 &+ $1.units } }
  var visible: UInt64 { children.reduce(0) { $0 &+ $1.visible } }
  var level: Level { children.reduce(children[0].level) { min($0, $1.level) } }

  /// How the node above tells of it.
  func asChild(_ node: NodeNumber) -> Child {
    Child(node: node, units: units, visible: visible, level: level)
  }

  func index(of node: NodeNumber) throws(FormatError) -> Int {
    guard let index = children.firstIndex(where: { $0.node == node }) else {
      throw .damagedRuns("inner.child", expected: "node \(node)", found: "other children")
    }
    return index
  }
}
