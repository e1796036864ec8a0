import Tributary

/// The versions that devices wrote without having seen each other.
enum ConflictScreen {
  static func lines(of post: Ref<Post>, in store: Store) throws -> [String] {
    try store.conflicts(of: post).map { conflict in
      let lost = conflict.losers.map { "“\(text(of: $0, in: post.zone))”" }.joined(separator: ", ")
      return
        "\(conflict.field ?? "the post"): “\(text(of: conflict.winner, in: post.zone))” shows, \(lost) lost"
    }
  }

  /// Takes the versions that lost.
  static func takeOther(of post: Ref<Post>, in store: Store) async throws {
    try await store.write { tx in
      for conflict in try tx.conflicts(of: post) { try tx.keep(conflict.losers[0], of: conflict) }
    }
  }

  private static func text(of head: CellHead, in zone: ZoneID) -> String {
    head.content.value.flatMap { String($0, in: zone) } ?? ""
  }
}
