/// Identifies a unit of a list or a text: an element, or a Unicode scalar.
///
/// In each epoch, a replica numbers the units that it inserts in a cell, from 0. Text form: the number, or
/// `replica.epoch.number` if it has a maker.
public struct UnitReference: Hashable, Sendable, LosslessStringConvertible {
  /// Who inserted it; nil for the replica and epoch of the transaction that holds the reference.
  public var maker: UnitMaker?
  /// Its number among the units that its maker inserted in the cell, from 0.
  public var number: UInt64

  /// Creates a reference.
  public init(maker: UnitMaker? = nil, number: UInt64) {
    self.maker = maker
    self.number = number
  }

  /// Parses the text form; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    if let number = scanner.decimal(), scanner.isAtEnd {
      self.init(number: number)
      return
    }
    scanner = TextScanner(text)
    guard let replica = scanner.hexadecimal(digits: 32), scanner.skip("."),
      let epoch = scanner.decimal(max: UInt64(UInt32.max)), scanner.skip("."),
      let number = scanner.decimal(), scanner.isAtEnd
    else { return nil }
    self.init(
      maker: UnitMaker(replica: ReplicaID(rawValue: replica), epoch: UInt32(epoch)), number: number)
  }

  /// The number, or `replica.epoch.number`.
  public var description: String { (maker.map { "\($0.replica).\($0.epoch)." } ?? "") + "\(number)" }
}

/// A replica in one of its epochs, as the maker of units.
public struct UnitMaker: Hashable, Sendable {
  public var replica: ReplicaID
  public var epoch: UInt32

  /// Creates a maker.
  public init(replica: ReplicaID, epoch: UInt32) {
    self.replica = replica
    self.epoch = epoch
  }
}

/// Units of one maker with consecutive numbers.
public struct UnitSpan: Hashable, Sendable {
  public var first: UnitReference
  /// How many, from 1. The number of the last one must fit in 64 bits.
  public var count: UInt64

  /// Creates a run.
  public init(first: UnitReference, count: UInt64) {
    self.first = first
    self.count = count
  }
}
