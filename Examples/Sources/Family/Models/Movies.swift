import Tributary

struct Member: Model {
  static let type: Name = "member"
  let name = Field<String>("name")
}

/// A movie is named by its title. So two members who wish for the same one, on two devices, share one record.
struct Movie: Model {
  static let type: Name = "movie"
  let fans = SetField<Ref<Member>>("fans", .nullify)
  let isSeen = Field<Bool>("isSeen")
}

extension WriteTransaction {
  /// Notes that a member wants to see a movie.
  mutating func wish(_ title: String, by member: Ref<Member>) throws {
    let movie = Ref<Movie>(in: member.zone, Name(title))
    if try !contains(movie) { try create(Movie.self, in: movie.zone, named: movie.name) }
    self[movie].fans.insert(member)
  }
}
