import OperationFormat

/// The root of a unit order's tree, and its counts. It is in the record's row; an empty order has
/// no rows.
///
/// | bytes | what |
/// |---|---|
/// | varint | count of all units |
/// | varint | count of visible units |
/// | varint | number of the top node, 0 for none |
/// | varint | height: 1 if the top node is a leaf, 0 if there is none |
/// | varint | the last node number that was given out |
/// | varint | count of the units that compaction has dropped; absent for 0 |
struct UnitOrderRoot: Hashable, Sendable {
  /// How many units there are, hidden ones included.
  var units: UInt64 = 0
  /// How many units are visible.
  var visible: UInt64 = 0
  var node: NodeNumber = 0
  var height: UInt32 = 0
  var lastNode: NodeNumber = 0
  /// How many units compaction has dropped: they have makers, and are in no leaf.
  var dropped: UInt64 = 0

  /// How many units were ever made.
  var made: UInt64 { units + dropped }

  init() {}

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    units = try reader.readVarint("root.units", in: 0...UnitOrderLimits.unitsMax)
    visible = try reader.readVarint("root.visible", in: 0...units)
    node = try reader.readUInt32Varint("root.node")
    height = UInt32(try reader.readVarint("root.height", in: 0...UInt64(UnitOrderLimits.heightMax)))
    lastNode = try reader.readUInt32Varint("root.lastNode")
    if reader.remaining > 0, units < UnitOrderLimits.unitsMax {
      dropped = try reader.readVarint("root.dropped", in: 1...UnitOrderLimits.unitsMax - units)
    }
    try reader.finish("root")
    guard (node == 0) == (units == 0), (node == 0) == (height == 0), node <= lastNode else {
      throw FormatError(
        .invalid, at: 0, in: "root", expected: "a node for units alone",
        found: "node \(node) of \(lastNode), height \(height), \(units) units")
    }
  }

  func append(to writer: inout ByteWriter) {
    writer.append(varint: units)
    writer.append(varint: visible)
    writer.append(varint: UInt64(node))
    writer.append(varint: UInt64(height))
    writer.append(varint: UInt64(lastNode))
    if dropped > 0 { writer.append(varint: dropped) }
  }
}
