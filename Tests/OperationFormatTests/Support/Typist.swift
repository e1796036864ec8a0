import OperationFormat

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Someone who types: one transaction a letter, with pauses, corrections and jumps of the cursor.
struct Typist {
  private var random: SeededGenerator
  private(set) var example: RunExample
  /// The numbers of the units that are in the text, in its order.
  private var units: [UInt64] = []
  private var cursor = 0
  private var made: UInt64 = 0
  private var milliseconds = 1_764_000_000_000.0

  init(seed: UInt64) {
    random = SeededGenerator(seed)
    example = RunExample(context: RunExample.context)
  }

  /// Types at least so many letters.
  mutating func type(_ count: Int) throws {
    let words = (0..<2000).map { _ in word() }
    while example.transactions.count < count {
      // Some words are frequent.
      let word = words[Int(2000 * pow(random.fraction(), 3))]
      for letter in word {
        if random.below(40) == 0 { try correct() }
        try insert(letter)
        wait(median: 140, spread: 0.45)
      }
      try insert(" ")
      if random.below(12) == 0 { wait(median: 1500, spread: 0.9) }
      if random.below(60) == 0 { cursor = random.below(units.count + 1) }
      if random.below(30) == 0 { cursor = units.count }
    }
  }

  private mutating func word() -> String {
    let letters = Array(
      "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddlllluuucccmmwwffggyyppbvké")
    return String((0..<(1 + random.below(9))).map { _ in letters[random.below(letters.count)] })
  }

  private mutating func correct() throws {
    let count = 1 + random.below(3)
    for _ in 0..<count { try insert("x") }
    for _ in 0..<count {
      cursor -= 1
      let unit = units.remove(at: cursor)
      try append(.removeText([UnitSpan(first: UnitReference(number: unit), count: 1)]))
      wait(median: 110, spread: 0.2)
    }
  }

  private mutating func insert(_ letter: Character) throws {
    let origin = cursor == 0 ? nil : UnitReference(number: units[cursor - 1])
    try append(.insertText(String(letter), after: origin))
    units.insert(made, at: cursor)
    made += 1
    cursor += 1
  }

  private mutating func wait(median: Double, spread: Double) {
    milliseconds += max(20, median * exp(spread * random.normal()))
  }

  private mutating func append(_ change: FieldChange) throws {
    let context = example.context
    let index = UInt64(example.transactions.count)
    try example.append(
      LogTransaction(
        replica: context.replica, epoch: context.epoch, sequence: context.firstSequence + index,
        zone: context.zone, base: Base(incarnation: context.incarnation, offset: 1 + index / 300),
        timestamp: Timestamp(milliseconds: UInt64(milliseconds), counter: 0), author: "ann",
        operations: [
          .update(
            record: "8F14E45F-CEEA-467F-9B5C-0E02B2C3D479", type: "Note", field: "body", change)
        ]))
  }
}

extension SeededGenerator {
  /// A number from 0 to 1.
  mutating func fraction() -> Double { Double.random(in: 0..<1, using: &self) }

  /// A number of the normal distribution.
  mutating func normal() -> Double { (-2 * log(1 - fraction())).squareRoot() * cos(2 * .pi * fraction()) }
}
