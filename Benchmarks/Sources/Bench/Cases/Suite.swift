extension Case {
  static var all: [Case] {
    [(1, 10_000), (10, 2000), (100, 500), (1000, 100)].map { size, count in
      commits(
        of: size, count: count, group: .commits,
        aims: [Aim(than: .lmdb, ratio: 0.85)] + (size == 100 ? [Aim(than: .sqlite, ratio: 3)] : []))
    }
      + [(1, 400), (10, 400), (100, 200), (1000, 50)].map { size, count in
        commits(
          of: size, count: count, group: .durable,
          aims: [Aim(than: .lmdb, ratio: 0.9)] + (size == 1000 ? [Aim(than: .sqlite, ratio: 1.2)] : []))
      }
  }
}
