import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Leaves whose pieces are told in series")
struct LeavesWithSeries {
  private static let texts = ["a", "typed text", "é", "naïve 𝄞", "€€€", "zz"]

  /// Pieces as compaction leaves them, and between them some that are in no series.
  private func makeLeaf(_ random: inout SeededGenerator, pieces count: Int) -> Leaf {
    var leaf = Leaf(parent: 7)
    var depth: UInt64 = 0
    var inserter = Inserter(replica: ReplicaNumber(rawValue: 1), epoch: 0)
    let bound = [200, 100_000, 1 << 39][random.below(3)]
    for _ in 0..<count {
      if random.chance(10) {
        inserter = Inserter(
          replica: ReplicaNumber(rawValue: UInt32(1 + random.below(3))), epoch: UInt32(random.below(2)))
      }
      var number = UInt64(random.below(bound))
      if let last = leaf.pieces.last, random.chance(70) { number = last.end + UInt64(random.below(5)) }
      let text = Self.texts[random.chance(60) ? random.below(2) : random.below(Self.texts.count)]
      var piece = Piece(
        first: UnitID(inserter, number), count: UInt64(text.unicodeScalars.count),
        left: leaf.pieces.last?.last, right: nil, isVisible: true, element: nil, text: 0..<0,
        level: Level(depth: depth, rightDepth: 0))
      if random.chance(8) { piece.isVisible = false }
      if random.chance(8) {
        piece.left = UnitID(inserter, number / 2)
        piece.level.depth = UInt64(random.below(50))
      }
      if random.chance(8) {
        piece.right = UnitID(inserter, number + 9999)
        piece.level.rightDepth = piece.left == leaf.pieces.last?.last ? 0 : 3
        if piece.level.rightDepth == 0 { piece.right = nil }
      }
      depth = piece.level.depth + piece.count
      _ = leaf.insert(piece, text: piece.isVisible ? Array(text.utf8)[...] : [], at: leaf.pieces.count)
    }
    return leaf
  }

  private func row(_ leaf: Leaf) -> [UInt8] {
    var writer = ByteWriter()
    leaf.append(to: &writer)
    return writer.bytes
  }

  private func texts(_ leaf: Leaf) -> [[UInt8]] { leaf.pieces.map { Array(leaf.bytes[$0.text]) } }

  private func bare(_ leaf: Leaf) -> [Piece] {
    leaf.pieces.map { piece in
      var piece = piece
      piece.text = 0..<0
      return piece
    }
  }

  @Test("are read as they were written, and measured as they are", arguments: 0..<60 as Range<UInt64>)
  func roundTrip(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let leaf = makeLeaf(&random, pieces: 1 + random.below(60))
    let bytes = row(leaf)
    let read = try Leaf(bytes.span.bytes, isText: true)
    #expect(bare(read) == bare(leaf) && texts(read) == texts(leaf) && read.parent == 7)
    #expect(row(read) == bytes)
    var tally = LeafTally()
    for index in leaf.pieces.indices {
      tally.add(
        leaf.pieces[index], before: index + 1 < leaf.pieces.count ? leaf.pieces[index + 1] : nil, in: leaf)
    }
    #expect(tally.byteCount == bytes.count)
    let bytesMax = [40, 64, 200][random.below(3)]
    let parts = leaf.cut(changed: random.below(leaf.pieces.count), bytesMax: bytesMax)
    #expect(parts.flatMap(texts).flatMap { $0 } == texts(leaf).flatMap { $0 })
    #expect(parts.map(\.units).reduce(0, +) == leaf.units)
    for part in parts {
      let bytes = row(part)
      #expect(bytes.count <= bytesMax || part.units == 1)
      let again = try Leaf(bytes.span.bytes, isText: true)
      #expect(bare(again) == bare(part))
    }
  }

  @Test("give typed errors where they are damaged, or other pieces", arguments: 0..<20 as Range<UInt64>)
  func damaged(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let leaf = makeLeaf(&random, pieces: 30)
    let bytes = row(leaf)
    var refused = 0
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 1 << UInt8(random.below(8))
      do throws(FormatError) {
        let read = try Leaf(damaged.span.bytes, isText: true)
        #expect(read.units <= UnitOrderLimits.unitsMax)
      } catch {
        refused += 1
      }
      let cut = Array(bytes[..<index])
      do throws(FormatError) { _ = try Leaf(cut.span.bytes, isText: true) } catch { refused += 1 }
    }
    #expect(refused > bytes.count / 2)
  }

  @Test("have each distance in its shortest form, and text alone")
  func hostile() throws {
    // A leaf of two pieces, units 0 and 2, of replica 1: “ab”.
    func row(bits: [UInt8], flags: UInt8 = 0xd0, text: String = "ab") -> [UInt8] {
      [1, 0, 0, 0, 0, flags, 1, 0, 0, 0] + bits + Array(text.utf8)
    }
    let sound = row(bits: [0b1_1_1_00000])
    let read = try Leaf(sound.span.bytes, isText: true)
    #expect(read.pieces.map(\.first.number) == [0, 2] && read.pieces[1].left == read.pieces[0].last)
    let bad: [[UInt8]] = [
      // A bit behind the last one.
      row(bits: [0b1_1_1_00001]),
      // A jump, where one bit says the same: it is 2 from the first unit, zigzag 4.
      row(bits: [0b1_01_00001, 0b1_100_1_000]),
      // A jump with a zero in front.
      row(bits: [0b1_01_00010, 0b0_0011_1_00]),
      // A jump of 63 bits.
      row(bits: [0b1_01_11111, 0b1_1111111] + [UInt8](repeating: 0xff, count: 8)),
      // Many zeros, then the end.
      row(bits: [0b1_00_00000] + [UInt8](repeating: 0, count: 9)),
      // A right origin; text that is too short, or has longer scalars than it says.
      row(bits: [0b1_1_1_00000], flags: 0xd4), row(bits: [0b1_1_1_00000], text: "a"),
      row(bits: [0b1_1_1_00000], text: "é"),
    ]
    for bytes in bad {
      #expect(throws: FormatError.self) { _ = try Leaf(bytes.span.bytes, isText: true) }
    }
    #expect(throws: FormatError.self) { _ = try Leaf(sound.span.bytes, isText: false) }
  }
}
