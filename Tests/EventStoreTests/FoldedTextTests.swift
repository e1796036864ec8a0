import StoreTesting
import Testing

@testable import EventStore

@Suite("Texts without case and diacritics")
struct FoldedTextTests {
  private func words(_ text: String) -> [String] {
    var words: [String] = []
    FoldedText.forEachWord(of: text) {
      words.append(String($0))
      return true
    }
    return words
  }

  @Test(
    "fold as a reader expects",
    arguments: [
      ("Ärger über Straße", "arger uber strasse"), ("CAFÉ", "cafe"), ("cafe\u{301}", "cafe"),
      ("ΌΣΟΣ", "οσοσ"),
      ("Ёлка Й", "елка и"), ("İstanbul", "istanbul"), ("שָׁלוֹם", "שלום"), ("ﬁ", "fi"), ("plain 1", "plain 1"),
      ("हिन्दी", "हिन्दी"), ("ø", "ø"), ("", ""),
    ])
  func folding(text: String, folded: String) {
    #expect(FoldedText.fold(text).unicodeScalars.elementsEqual(folded.unicodeScalars))
  }

  @Test("texts that are canonically equivalent fold to the same scalars, and folding again changes nothing")
  func equivalence() {
    // Of each scalar that another one folds to, and all syllables of some consonants.
    for number in Set(FoldedScalars.all.keys).union(0xac00...0xad00).union(0xd700...0xd7a3) {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let folded = FoldedText.fold(String(scalar))
      #expect(FoldedText.fold(folded).unicodeScalars.elementsEqual(folded.unicodeScalars), "\(number)")
      // Swift compares strings by canonical equivalence.
      let other = FoldedText.fold(String(scalar).lowercased())
      #expect(
        other == folded || FoldedText.fold(other) == folded || String(scalar).lowercased() == String(scalar),
        "\(number)")
    }
    for (a, b) in [
      ("각", "\u{1100}\u{1161}\u{11a8}"), ("ệ", "e\u{302}\u{323}"), ("क़", "\u{915}\u{93c}"), ("Å", "\u{212b}"),
    ] {
      #expect(
        a == b && FoldedText.fold(a).unicodeScalars.elementsEqual(FoldedText.fold(b).unicodeScalars), "\(a)")
    }
  }

  @Test("words are letters, digits and marks in a row")
  func wordsOfTexts() {
    #expect(words("Hello, wörld! 3.5 e-mail") == ["hello", "world", "3", "5", "e", "mail"])
    #expect(words("東京に行く") == ["東", "京", "に", "行", "く"])
    #expect(words(" \n ") == [] && words("हिन्दी है") == ["हिन्दी", "है"])
    #expect(FoldedText.has("worl", isPrefix: true, in: "Hello Wörld"))
    #expect(!FoldedText.has("worl", isPrefix: false, in: "Hello Wörld"))
  }
}
