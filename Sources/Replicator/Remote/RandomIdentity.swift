package import OperationFormat

extension RemoteID {
  /// A random identity.
  package static func random(_ makeRandom: () -> UInt64) -> RemoteID {
    RemoteID(rawValue: random128(makeRandom))
  }
}

extension IncarnationID {
  /// A random identity.
  static func random(_ makeRandom: () -> UInt64) -> IncarnationID {
    IncarnationID(rawValue: random128(makeRandom))
  }
}
