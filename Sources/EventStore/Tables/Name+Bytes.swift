import OperationFormat

extension Name {
  /// Lends the name's UTF-8 to a closure.
  func withBytes<R>(_ body: (RawSpan) throws -> R) rethrows -> R {
    let text = rawValue.utf8Span.span
    return try body(text.bytes)
  }
}
