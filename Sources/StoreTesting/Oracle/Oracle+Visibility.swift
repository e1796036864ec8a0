import EventStore

extension Oracle {
  /// The type of a visible record; nil for one that is not visible.
  ///
  /// - Parameters:
  ///   - heads: the heads of the record's existence, greatest first: the type, or nil for dead.
  ///   - policy: the policy of a type.
  static func visibleType<RecordType>(
    _ heads: [RecordType?], policy: (RecordType) -> ExistencePolicy
  ) -> RecordType? {
    guard let greatest = heads.first, let type = heads.compactMap({ $0 }).first else { return nil }
    switch policy(type) {
    case .latest: return greatest
    case .deleteWins: return heads.contains { $0 == nil } ? nil : type
    case .updateWins: return type
    }
  }
}
