/// Texts without case and diacritics, and their words.
enum FoldedText {
  /// A text as it is compared where case and diacritics do not count: “É” and “e” are the same, “ß” and “ss”
  /// too.
  ///
  /// Texts that are canonically equivalent fold to the same, if their marks are in the same order. Marks of
  /// vowels, as in Devanagari, are no diacritics.
  static func fold(_ text: String) -> String {
    var text = text
    let isPlain = text.withUTF8 { $0.allSatisfy { $0 < 0x80 && !(0x41...0x5a ~= $0) } }
    if isPlain { return text }
    var folded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { append(scalar, to: &folded) }
    return String(folded)
  }

  private static func append(_ scalar: Unicode.Scalar, to folded: inout String.UnicodeScalarView) {
    switch scalar.value {
    case 0x41...0x5a: folded.append(Unicode.Scalar(UInt8(scalar.value + 0x20)))
    case 0..<0x80: folded.append(scalar)
    case 0xac00...0xd7a3: folded.append(contentsOf: hangul(scalar.value - 0xac00))
    default:
      if let other = FoldedScalars.all[scalar.value] {
        folded.append(contentsOf: other)
      } else if !isDiacritic(scalar) {
        folded.append(scalar)
      }
    }
  }

  /// The letters of a syllable of Hangul (Unicode, 3.12).
  private static func hangul(_ index: UInt32) -> [Unicode.Scalar] {
    let letters =
      [0x1100 + index / 588, 0x1161 + index % 588 / 28] + (index % 28 > 0 ? [0x11a7 + index % 28] : [])
    return letters.compactMap(Unicode.Scalar.init)
  }

  /// Whether a scalar is a mark that a letter may have or not: of Latin, Greek, Cyrillic, Hebrew and Arabic.
  private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x300...0x36f, 0x483...0x487, 0x591...0x5bd, 0x5bf, 0x5c1...0x5c2, 0x5c4...0x5c5, 0x5c7,
      0x610...0x61a,
      0x64b...0x65f, 0x670, 0x1ab0...0x1aff, 0x1dc0...0x1dff, 0x20d0...0x20ff, 0xfe20...0xfe2f:
      true
    default: false
    }
  }

  /// Calls a closure with the words of a text, folded, in their order, until it returns false.
  ///
  /// A word is letters, digits and marks in a row. Scripts that put no spaces between words have a word for
  /// each ideograph and each Kana.
  static func forEachWord(of text: String, _ body: (Substring) -> Bool) {
    let folded = fold(text)
    let scalars = folded.unicodeScalars
    var start: String.Index?
    var place = scalars.startIndex
    while place < scalars.endIndex {
      let next = scalars.index(after: place)
      switch kind(of: scalars[place]) {
      case .inWord: if start == nil { start = place }
      case .word:
        if let begin = start, !body(folded[begin..<place]) { return }
        start = nil
        if !body(folded[place..<next]) { return }
      case .between:
        if let begin = start, !body(folded[begin..<place]) { return }
        start = nil
      }
      place = next
    }
    if let start { _ = body(folded[start...]) }
  }

  /// Whether a text has a folded word, or one that begins so.
  static func has(_ word: String, isPrefix: Bool, in text: String) -> Bool {
    var isThere = false
    forEachWord(of: text) { other in
      isThere = isPrefix ? other.utf8.starts(with: word.utf8) : other.utf8.elementsEqual(word.utf8)
      return !isThere
    }
    return isThere
  }

  private enum Kind {
    case inWord, word, between
  }

  private static func kind(of scalar: Unicode.Scalar) -> Kind {
    switch scalar.value {
    case 0x30...0x39, 0x61...0x7a: return .inWord
    case 0..<0x80: return .between
    case 0x3041...0x3096, 0x30a1...0x30fa, 0x31f0...0x31ff, 0xff66...0xff9d: return .word
    default: break
    }
    if scalar.properties.isIdeographic { return .word }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark:
      return .inWord
    default: return .between
    }
  }
}
