import EventStore

extension Row: Equatable {
  /// Whether two rows show the same, and nothing of the record was changed in between. Contents that cannot be
  /// compared, as those of a reduced field may be, do not count.
  public static func == (left: Row, right: Row) -> Bool {
    if left.whole === right.whole { return true }
    return left.whole.system == right.whole.system && left.whole.record == right.whole.record
      && left.contents.count == right.contents.count
      && zip(left.contents, right.contents).allSatisfy { areSame($0, $1) }
  }

  private static func areSame(_ left: any Sendable, _ right: any Sendable) -> Bool {
    func isSame<T: Equatable>(_ left: T) -> Bool { (right as? T).map { $0 == left } ?? false }
    guard let left = left as? any Equatable else { return true }
    return isSame(left)
  }
}
