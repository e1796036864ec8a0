/// The first byte of a transaction.
///
/// | bits | meaning |
/// |---|---|
/// | 0–1 | base: ``Base`` |
/// | 2–5 | flags of the body |
/// | 6 | the time of arrival differs from the timestamp |
/// | 7 | one operation; else their count follows, 0 for a plain transaction |
struct RunHead {
  enum Base: UInt8 {
    case none
    /// The base of the last transaction that has one.
    case same
    /// An offset in the incarnation of the last one: the difference follows.
    case moved
    /// An incarnation and an offset follow.
    case other
  }

  var base: Base
  var bodyFlags: UInt8
  var hasDelay: Bool
  var hasOneOperation: Bool

  static let delayBit: UInt8 = 0x40
  static let oneOperationBit: UInt8 = 0x80

  init(base: Base, bodyFlags: UInt8, hasDelay: Bool, hasOneOperation: Bool) {
    self.base = base
    self.bodyFlags = bodyFlags
    self.hasDelay = hasDelay
    self.hasOneOperation = hasOneOperation
  }

  init(byte: UInt8) {
    base = Base(rawValue: byte & 3)!
    bodyFlags = byte >> 2 & TransactionFormat.bodyFlagsMask
    hasDelay = byte & Self.delayBit != 0
    hasOneOperation = byte & Self.oneOperationBit != 0
  }

  var byte: UInt8 {
    base.rawValue | bodyFlags << 2 | (hasDelay ? Self.delayBit : 0)
      | (hasOneOperation ? Self.oneOperationBit : 0)
  }
}
