/// An error of LMDB, of the operating system or of this wrapper's own checks, and what to do about it.
package struct LMDBError: Error, Sendable, CustomStringConvertible {
  /// Identifies the error; compare the code, not the text.
  package var code: Code

  /// The C function that failed, such as `mdb_put`, or the name of our own check.
  var call: String

  /// The store's directory or the file, if known.
  package var path: String?

  /// What happened, with the offending value, as a sentence without its full stop.
  package var message: String

  /// What to do about it, as a sentence without its full stop.
  package var hint: String

  /// Creates an error; message and hint default to those of the code.
  package init(code: Code, call: String, path: String? = nil, message: String? = nil, hint: String? = nil) {
    self.code = code
    self.call = call
    self.path = path
    self.message = message ?? code.explanation
    self.hint = hint ?? code.defaultHint
  }

  /// One line: message (symbol, C function, path). hint.
  package var description: String {
    let place = path.map { ", \($0)" } ?? ""
    return "\(message) (\(code), \(call)\(place)). \(hint)."
  }
}
