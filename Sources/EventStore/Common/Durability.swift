/// How a commit is kept from a power cut.
public enum Durability: String, Hashable, Sendable, CaseIterable {
  /// A commit that returned survives a power cut.
  case durable
  /// A power cut may undo the last commits. It never breaks the store.
  case consistent
}
