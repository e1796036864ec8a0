import Tributary

/// The movies that somebody wants to see, the most wanted first.
enum MovieScreen {
  static let wanted = Movie.where { $0.isSeen == false && $0.fans.count > 0 }.sorted(by: \.fans, .reverse)

  static func lines(of store: Store) throws -> [String] {
    // One read: the movies and the names of their fans are of the same moment.
    try store.read { tx in
      try tx.fetch(wanted).map { movie in
        let fans = try movie.fans.compactMap { try tx.fetch($0)?.name }.sorted()
        return "\(movie.id.name): \(fans.joined(separator: ", "))"
      }
    }
  }
}
