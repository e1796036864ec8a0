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

  /// Whether it differs from another only by such texts, or not at all.
  func isEquivalent(to other: Value) -> Bool {
    switch (self, other) {
    case (.string(let one), .string(let other)): one == other
    case (.array(let one), .array(let other)): one.elementsEqual(other) { $0.isEquivalent(to: $1) }
    case (.map(let one), .map(let other)):
      one.count == other.count
        && one.allSatisfy { key, value in other[key].map { value.isEquivalent(to: $0) } ?? false }
    default: self == other
    }
  }
}

extension String {
  /// ASCII and ideographs count as having none: the sign of Kelvin and forms for compatibility are rare.
  var mayHaveEquivalents: Bool {
    unicodeScalars.contains { 0x80..<0x3400 ~= $0.value || 0xa000..<0x20000 ~= $0.value }
  }
}

extension Dictionary where Key == String {
  /// What a map shows.
  ///
  /// - Parameters:
  ///   - entries: what is stored.
  ///   - isShown: chooses between two keys that are equal for Swift: whether the first one shows.
  ///   - decode: nil for a value that is left out.
  init(
    _ entries: [Name: OperationFormat.Value], choosing isShown: (Name, Name) throws -> Bool,
    decoding decode: (OperationFormat.Value) -> Value?
  ) rethrows {
    self.init(minimumCapacity: entries.count)
    var count = 0
    for (key, value) in entries {
      guard let value = decode(value) else { continue }
      self[key.rawValue] = value
      count += 1
    }
    if self.count == count { return }
    var shown: [String: Name] = [:]
    for (key, value) in entries where decode(value) != nil {
      if let other = shown[key.rawValue], try isShown(other, key) { continue }
      shown[key.rawValue] = key
    }
    removeAll(keepingCapacity: true)
    for key in shown.values { self[key.rawValue] = entries[key].flatMap(decode) }
  }
}
