/// The number of a transaction in one store's log, from 1, without gaps. It never leaves the store.
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
  /// From 1; 0 is before the first transaction.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Before the first.
  public static let start = Position(rawValue: 0)

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  public var description: String { String(rawValue) }

  package var next: Position { Position(rawValue: rawValue + 1) }
}
