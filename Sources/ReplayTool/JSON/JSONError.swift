/// What is wrong with a JSON document, or with what it says.
struct JSONError: Error {
  /// Where: a byte from the start of the document, or the path of the member at fault.
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
