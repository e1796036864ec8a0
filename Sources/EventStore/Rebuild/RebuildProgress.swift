import LMDB
import OperationFormat

/// Up to where a rebuild has folded the log.
struct RebuildProgress: Sendable {
  /// The last transaction that was folded whole.
  var position: Position
  /// How many operations of the next one were folded too.
  var operations: Int
  /// Where in the elements of its record the next operation continues; nil if it has not begun, or begins
  /// again.
  var next: ElementKey?
  /// Whether only some zones are folded again: those that have a state for it.
  let isPartial: Bool

  init(_ position: Position, operations: Int = 0, next: ElementKey? = nil, isPartial: Bool = false) {
    self.position = position
    self.operations = operations
    self.next = next
    self.isPartial = isPartial
  }
}

extension MetaTable {
  /// Up to where an unfinished rebuild has folded, and what it knows; nil if there is none.
  func unfinishedRebuild() throws -> (progress: RebuildProgress, lastKnown: OperationKind)? {
    let key = TableKey.meta(.rebuild)
    return try transaction.withValue(of: key.span, in: tables.meta) { row in
      var reader = ByteReader(row)
      var progress = RebuildProgress(Position(rawValue: try reader.readVarint("rebuild")))
      let kind = reader.remaining > 0 ? try reader.readVarint("rebuild") : OperationKind.set.rawValue
      guard reader.remaining > 0 else { return (progress, OperationKind(rawValue: kind)) }
      let isPartial = try reader.readVarint("rebuild", in: 0...UInt64(UInt32.max)) > 0
      progress = RebuildProgress(
        progress.position, operations: Int(try reader.readVarint("rebuild", in: 0...UInt64(Int32.max))),
        next: reader.remaining > 0 ? ElementKey(bytes: row.extracting(reader.position...).bytes) : nil,
        isPartial: isPartial)
      return (progress, OperationKind(rawValue: kind))
    }
  }
}

extension MetaTable where Source == TableStorage {
  /// - Parameter lastKnown: what each version knows that has taken part.
  func setRebuilt(_ progress: RebuildProgress?, lastKnown: OperationKind = .lastKnown) throws {
    guard let progress else {
      let key = TableKey.meta(.rebuild)
      _ = try transaction.delete(key.span, in: tables.meta)
      return
    }
    try source.put(.meta(.rebuild), in: tables.meta) { writer in
      writer.append(varint: progress.position.rawValue)
      writer.append(varint: lastKnown.rawValue)
      guard progress.isPartial || progress.operations > 0 || progress.next != nil else { return }
      writer.append(varint: progress.isPartial ? 1 : 0)
      writer.append(varint: UInt64(progress.operations))
      if let next = progress.next { writer.append(next.bytes.span.bytes) }
    }
  }
}
