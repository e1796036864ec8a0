/// What LMDB, the operating system or this wrapper's own checks refused, and what to do about it.
package struct LMDBError: Error, Sendable, CustomStringConvertible {
  /// Says which error it is; compare with this, never with the text.
  package var code: Code

  /// The C function that failed, such as `mdb_put`, or the check of our own.
  package var call: String

  /// The store's directory or the file, where known.
  package var path: String?

  /// What happened, with the offending value, in a sentence without its full stop.
  package var message: String

  /// What to do about it, in a sentence without its full stop.
  package var hint: String

  /// Makes an error; message and hint are the code's own if not given.
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
