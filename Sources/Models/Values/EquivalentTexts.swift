import OperationFormat

/// Texts that Swift calls equal although their bytes differ: “é” as one scalar, or as two. The store keeps both, as
/// elements of a set or keys of a map; a `Set` or a `Dictionary` has one of them.
extension Value {
  /// Whether a value with other bytes may be equal to it for Swift.
  var mayHaveEquivalents: Bool {
    switch self {
    case .string(let text): text.mayHaveEquivalents
    case .array(let elements): elements.contains(where: \.mayHaveEquivalents)
    case .map(let entries):
      entries.contains { $0.key.rawValue.mayHaveEquivalents || $0.value.mayHaveEquivalents }
    case .null, .bool, .int, .double, .decimal, .bytes, .date, .uuid, .reference, .asset: false
    }
  }
}

extension String {
  /// Of ASCII, only these have others: the sign of Kelvin, the Greek question mark, and the Greek varia.
  var mayHaveEquivalents: Bool {
    utf8.contains {
      $0 >= 0x80 || $0 == UInt8(ascii: "K") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "`")
    }
  }
}

extension Dictionary where Key == String {
  /// Of keys that are equal for Swift, the one with the least bytes counts, so that all devices show the same.
  ///
  /// - Parameter decode: nil for a value that is left out.
  init(_ entries: [Name: OperationFormat.Value], decoding decode: (OperationFormat.Value) throws -> Value?)
    rethrows
  {
    self.init(minimumCapacity: entries.count)
    var count = 0
    for (key, value) in entries {
      guard let value = try decode(value) else { continue }
      self[key.rawValue] = value
      count += 1
    }
    if self.count == count { return }
    removeAll(keepingCapacity: true)
    for (key, value) in entries.sorted(by: { $0.key < $1.key }) where self[key.rawValue] == nil {
      self[key.rawValue] = try decode(value)
    }
  }
}
