extension Case {
  /// All cases, in the order of the table.
  static var all: [Case] {
    commitsInMemory + durableCommits + [tasks] + observers + reads + models + [indexed] + [
      folding, rebuilding, past,
    ]
      + ycsb
      + shipping
      + [firstSync]
      + [growth, manyRecords, elements, texts] + [2, 3, 16].map { onePlace(writers: $0) } + [
        references, space, compactedRecords, compactedText,
      ]
  }

  private static var commitsInMemory: [Case] {
    [(1, 10_000), (10, 2000), (100, 500), (1000, 100)].map { size, count in
      commits(
        of: size, count: count, on: .memory,
        aims: [Comparison.Aim(than: .lmdb, ratio: 0.85)]
          + (size == 100 ? [Comparison.Aim(than: .sqlite, ratio: 3)] : []))
    }
  }

  private static var durableCommits: [Case] {
    [(1, 400), (10, 400), (100, 200), (1000, 50)].map { size, count in
      commits(
        of: size, count: count, on: .disk,
        aims: [Comparison.Aim(than: .lmdb, ratio: 0.9)]
          + (size == 1000 ? [Comparison.Aim(than: .sqlite, ratio: 1.2)] : []))
    }
  }

  private static var reads: [Case] {
    [
      read(
        .field, count: 200_000,
        aims: [Comparison.Aim(than: .lmdb, ratio: 0.7), Comparison.Aim(than: .sqlite, ratio: 3)]),
      read(
        .record, count: 200_000,
        aims: [Comparison.Aim(than: .lmdb, ratio: 0.7), Comparison.Aim(than: .sqlite, ratio: 3)]),
      read(
        .all, count: 1,
        aims: [Comparison.Aim(than: .lmdb, ratio: 0.7), Comparison.Aim(than: .sqlite, ratio: 3)]),
    ]
  }

  private static var ycsb: [Case] {
    YCSB.allCases.map { ycsb($0, count: 100_000, aim: $0 == .e ? 1.5 : 2) }
  }
}
