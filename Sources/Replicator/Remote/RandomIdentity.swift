internal import OperationFormat

extension RemoteID {
  /// A random identity.
  static func random(_ makeRandom: () -> UInt64) -> RemoteID { RemoteID(rawValue: random128(makeRandom)) }
}

extension IncarnationID {
  /// A random identity.
  static func random(_ makeRandom: () -> UInt64) -> IncarnationID {
    IncarnationID(rawValue: random128(makeRandom))
  }
}

/// 128 random bits, the high half first.
///
/// Do not call it in an asynchronous function: a UInt128 on the stack of one breaks its calls in Swift 6.3.
private func random128(_ makeRandom: () -> UInt64) -> UInt128 {
  UInt128(makeRandom()) << 64 | UInt128(makeRandom())
}
