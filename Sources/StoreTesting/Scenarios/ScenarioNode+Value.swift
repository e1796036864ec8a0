import OperationFormat

extension ScenarioNode {
  /// The value that it means, by YAML's core schema: null, truth values, numbers, texts, lists and
  /// mappings.
  ///
  /// - Throws: ``ScenarioError`` `scenarioInvalid`.
  func value() throws -> Value {
    switch content {
    case .scalar(let text, false): return .string(text)
    case .scalar(let text, true): return try plain(text)
    case .sequence(let nodes): return .array(try nodes.map { try $0.value() })
    case .mapping(let members):
      var values: [Name: Value] = [:]
      for (key, node) in members { values[Name(key)] = try node.value() }
      return .map(values)
    }
  }

  private func plain(_ text: String) throws -> Value {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    case ".nan", ".NaN", ".NAN": return .double(.nan)
    case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF": return .double(.infinity)
    case "-.inf", "-.Inf", "-.INF": return .double(-.infinity)
    default: break
    }
    let digits = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
    guard text.utf8.count - digits.count <= 1, let first = digits.first else { return .string(text) }
    let zero = UInt8(ascii: "0")
    let isDigits = digits.allSatisfy { zero...UInt8(ascii: "9") ~= $0 }
    if isDigits {
      guard let number = Int64(text) else {
        throw ScenarioError.invalid(
          line, "the number \(text) has more than 64 bits", hint: "quote it, or use a smaller one")
      }
      return .int(number)
    }
    // Words such as `infinity`, and hexadecimal numbers, are texts.
    let isNumeric = digits.allSatisfy {
      zero...UInt8(ascii: "9") ~= $0
        || [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "-"), UInt8(ascii: "+")]
          .contains($0)
    }
    guard isNumeric, zero...UInt8(ascii: "9") ~= first || first == UInt8(ascii: "."),
      let number = Double(text)
    else { return .string(text) }
    return .double(number)
  }
}

extension Value {
  /// Whether two values are the same to a scenario: numbers by value, and a field without a value is null.
  func isSame(as other: Value) -> Bool {
    switch (self, other) {
    case (.int(let a), .double(let b)): Double(exactly: a) == b
    case (.double(let a), .int(let b)): a == Double(exactly: b)
    case (.decimal(let a), .double(let b)): DecimalNumber("\(b)") == a
    case (.double(let a), .decimal(let b)): DecimalNumber("\(a)") == b
    case (.decimal(let a), .int(let b)): DecimalNumber(coefficient: Int128(b), exponent: 0) == a
    case (.int(let a), .decimal(let b)): DecimalNumber(coefficient: Int128(a), exponent: 0) == b
    case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
    case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
    case (.map(let a), .map(let b)):
      a.count == b.count && a.allSatisfy { key, value in b[key].map { value.isSame(as: $0) } ?? false }
    default: self == other
    }
  }
}
