import OperationFormat

extension String {
  /// A word of a command, quoted where a shell needs it: names of zones are a peer's to choose.
  package var argument: String {
    let isPlain = unicodeScalars.allSatisfy { scalar in
      scalar.properties.isAlphabetic || "0123456789_-./:@+,%".unicodeScalars.contains(scalar)
    }
    return isPlain && !isEmpty ? self : "'\(replacing("'", with: "'\\''"))'"
  }
}

extension ZoneID {
  /// A word of a command.
  var argument: String { "\(self)".argument }
}
