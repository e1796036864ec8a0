/// An error in a JSON document, or in its contents.
struct JSONError: Error {
  /// Where it is: a byte from the start of the document, or the path of a member.
  var place: String
  var message: String

  init(at byte: Int, _ message: String) {
    place = "byte \(byte)"
    self.message = message
  }

  init(in path: String, _ message: String) {
    place = path
    self.message = message
  }

  var description: String { place.isEmpty ? message : "\(message) (\(place))" }
}
