import LMDB
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("A damaged data file")
struct DamagedFileTests {
  let directory = TemporaryDirectory()
  private var file: String { directory("data.mdb") }
  private static let pageBytes = 4096

  @Test(
    "if the page check finds no problem, reading does not end the process",
    arguments: WideTests.choose(1...6, otherwise: 1...2))
  func randomDamage(seed: UInt64) throws {
    print("random damage: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    _ = try SampleStore(in: directory.path, seed: seed)
    let bytes = readFile(file)
    var options = Environment.Options.test()
    options.readOnly = true
    var found = 0
    var sound = 0
    for _ in 0..<400 {
      let (offset, patch) = Self.damage(bytes, &random)
      patchFile(file, at: offset, patch)
      defer { patchFile(file, at: offset, Bytes(bytes[offset..<offset + patch.count])) }
      do {
        let problems = try PageCheck.check(directory: directory.path)
        guard problems.isEmpty else {
          found += 1
          continue
        }
        sound += 1
        let environment = try Environment(directory: directory.path, options: options)
        try environment.read { transaction in
          for name in ["short", "wide", "long", "empty"] {
            let table = try transaction.openTable(name, create: false)
            let entries = try transaction.entries(table)
            for pair in entries { #expect(try transaction.get(pair.key, table) == pair.value) }
          }
        }
      } catch let error as LMDBError {
        // A table's name may be damaged, or the file is no LMDB file any more.
        let isExpected = [.notFound, .notAStore, .versionMismatch, .damagedPage].contains(error.code)
        #expect(isExpected, "\(offset): \(error)")
      }
    }
    #expect(found > 50)
    #expect(sound > 50)
    // And whatever the open reports, the undamaged file is sound.
    #expect(try PageCheck.check(directory: directory.path) == [])
  }

  /// LMDB moves entries by their sizes when it writes: with a wrong one it would write outside the page.
  @Test(
    "a wrong size of a key or a value is found, unless the entry takes as much space",
    arguments: UInt64(1)...3)
  func sizesOfEntries(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    _ = try SampleStore(in: directory.path, seed: seed)
    let bytes = readFile(file)
    func number(_ offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
    var entries: [(sizes: [Int], bytes: Int)] = []
    for page in stride(from: 2 * Self.pageBytes, to: bytes.count, by: Self.pageBytes) {
      // Whether it is a branch or a leaf in use: else the numbers are others.
      let (isBranch, isLeaf) = (bytes[page + 10] & 1 != 0, bytes[page + 10] & 2 != 0)
      guard isBranch != isLeaf, bytes[page + 10] & 0xfc == 0, number(page + 12) < Self.pageBytes else {
        continue
      }
      for slot in stride(from: page + 16, to: page + number(page + 12), by: 2) {
        let entry = page + number(slot)
        let isLong = isLeaf && number(entry + 4) & 1 != 0
        let value = isBranch ? 0 : isLong ? 8 : number(entry)
        entries.append(
          (isLong || isBranch ? [entry + 6] : [entry, entry + 6], 8 + number(entry + 6) + value))
      }
    }
    #expect(entries.count > 200)
    var found = 0
    for _ in 0..<200 {
      let entry = entries.randomElement(using: &random)!
      let offset = entry.sizes.randomElement(using: &random)!
      let before = bytes[offset]
      let after = before ^ (1 << UInt8.random(in: 0..<6, using: &random))
      patchFile(file, at: offset, [after])
      defer { patchFile(file, at: offset, [before]) }
      let isSame = (entry.bytes + 1) / 2 == (entry.bytes + Int(after) - Int(before) + 1) / 2
      let problems = try PageCheck.check(directory: directory.path)
      // The page may be a free one.
      if problems.isEmpty { #expect(isSame || !isReached(offset), "\(offset): \(before) became \(after)") }
      found += problems.isEmpty ? 0 : 1
    }
    #expect(found > 80)

    /// Whether another damage of the page is found: of a page that nothing leads to, none is.
    func isReached(_ offset: Int) -> Bool {
      let lower = offset / Self.pageBytes * Self.pageBytes + 12
      patchFile(file, at: lower, [1])
      defer { patchFile(file, at: lower, [bytes[lower]]) }
      return (try? PageCheck.check(directory: directory.path)) != []
    }
  }

  /// Random damage: a bit, a byte or a number, mostly in the structure of the pages.
  static func damage(
    _ bytes: Bytes, _ random: inout SeededGenerator
  ) -> (offset: Int, patch: Bytes) {
    let page = Int.random(in: 0..<bytes.count / pageBytes, using: &random) * pageBytes
    let within = [16, 32, 160, pageBytes].randomElement(using: &random)!
    let offset = page + Int.random(in: 0..<within, using: &random)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return (offset, [bytes[offset] ^ (1 << UInt8.random(in: 0..<8, using: &random))])
    case 1: return (offset, [UInt8.random(in: 0...255, using: &random)])
    default:
      let count = min(bytes.count - offset, [2, 4, 8].randomElement(using: &random)!)
      let filler = [0, 1, 0xFF].randomElement(using: &random)! as UInt8
      return (offset, Bytes(repeating: filler, count: count))
    }
  }

  @Test("each kind of damage is found and named")
  func kinds() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    let live = try livePages(bytes)
    let branch = try #require(live.first { Self.flags(bytes, $0) == 1 })
    let leaf = try #require(live.first { Self.flags(bytes, $0) == 2 })
    let long = try #require(live.first { Self.flags(bytes, $0) == 4 })
    let firstNode = Self.number16(bytes, leaf * Self.pageBytes + 16)
    let branchNode = branch * Self.pageBytes + Self.number16(bytes, branch * Self.pageBytes + 18)
    let child = Bytes(bytes[branchNode..<branchNode + 4])
    let otherNode = branch * Self.pageBytes + Self.number16(bytes, branch * Self.pageBytes + 16)
    let cases: [(PageProblem.Kind, Int, Bytes)] = [
      (.wrongNumber, leaf * Self.pageBytes, [0xEE, 0xEE]),
      (.wrongKind, leaf * Self.pageBytes + 10, [4]),
      (.wrongDepth, leaf * Self.pageBytes + 10, [1]),
      (.wrongBounds, leaf * Self.pageBytes + 12, [0xFF, 0xFF]),
      (.tooFewEntries, leaf * Self.pageBytes + 12, [16, 0]),
      (.nodeOutsidePage, leaf * Self.pageBytes + 16, [0xFE, 0xFF]),
      (.wrongNodeFlags, leaf * Self.pageBytes + firstNode + 4, [4]),
      (.wrongKeySize, leaf * Self.pageBytes + firstNode + 6, [0, 0]),
      (.keysOutOfOrder, leaf * Self.pageBytes + firstNode + 8, [0xFF]),
      (.beyondFile, branchNode, [0xFF, 0xFF, 0xFF, 0]),
      (.reachedTwice, otherNode, child),
      (.wrongOverflow, long * Self.pageBytes + 12, [0xFF]),
      (.nodesOverlap, leaf * Self.pageBytes + 12, [18, 0]),
      (.wrongCount, 1 * Self.pageBytes + 120, [0x7F]),
      (.wrongCount, 0 * Self.pageBytes + 120, [0x7F]),
      (.metaFields, 1 * Self.pageBytes + 136 + 4, [0xFF, 0xFF, 0xFF, 0xFF]),
      (.metaFields, 0 * Self.pageBytes + 136 + 4, [0xFF, 0xFF, 0xFF, 0xFF]),
    ]
    var kinds: Set<PageProblem.Kind> = []
    for (kind, offset, patch) in cases {
      writeFile(file, bytes)
      patchFile(file, at: offset, patch)
      let problems = try PageCheck.check(directory: directory.path)
      if problems.contains(where: { $0.kind == kind }) { kinds.insert(kind) }
      let isOlderMeta = offset < 2 * Self.pageBytes && problems.isEmpty
      #expect(isOlderMeta || problems.contains { $0.kind == kind }, "\(kind) in \(problems)")
    }
    #expect(kinds.count == 15)
  }

  @Test("the first problem has the number of the page")
  func pageNumber() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    for page in try livePages(bytes) {
      writeFile(file, bytes)
      patchFile(file, at: page * Self.pageBytes + 1, [0x7F])
      let problems = try PageCheck.check(directory: directory.path)
      #expect(problems.first?.page == UInt64(page) && problems.first?.kind == .wrongNumber)
    }
  }

  @Test("whose table of tables or free list is damaged is refused at open")
  func damagedRoots() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    let meta = Self.number64(bytes, 144) > Self.number64(bytes, 4096 + 144) ? 0 : 4096
    for record in [40, 88] {
      let root = Self.number64(bytes, meta + record + 40)
      writeFile(file, bytes)
      patchFile(file, at: root * Self.pageBytes + 10, [0])
      #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .damagedPage)
    }
  }

  @Test("with a random number as its last page is refused at open, in memory limited by the file's size")
  func lastPage() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    var refused = 0
    for meta in [0, Self.pageBytes] {
      for bit in 0..<64 {
        let offset = meta + 136 + bit / 8
        writeFile(file, bytes)
        patchFile(file, at: offset, [bytes[offset] ^ (1 << UInt8(bit % 8))])
        // Without the limit it took gigabytes, or ended the process: 2⁶³ pages are 2⁵⁷ words of bits.
        let code = thrownCode { _ = try Environment(directory: directory.path, options: .test()) }
        #expect(code == nil || code == .damagedPage || code == .truncatedFile, "bit \(bit)")
        if code != nil { refused += 1 }
        let problems = try PageCheck.check(directory: directory.path)
        #expect((code == nil) == problems.isEmpty, "bit \(bit)")
      }
    }
    #expect(refused > 30)
  }

  @Test("no page within the bound can end the process; beyond the bound, no branch page can")
  func structure() throws {
    _ = try SampleStore(in: directory.path, seed: 1)
    let bytes = readFile(file)
    let live = try livePages(bytes)
    var bounded = Environment.Options.test()
    bounded.checkedPagesMax = 12
    var missed = 0
    for page in live {
      writeFile(file, bytes)
      patchFile(file, at: page * Self.pageBytes + 1, [0x7F])
      let code = thrownCode { _ = try Environment(directory: directory.path, options: .test()) }
      #expect(code == .damagedPage, "page \(page)")
      let isFound = thrownCode { _ = try Environment(directory: directory.path, options: bounded) } != nil
      #expect(isFound || Self.flags(bytes, page) != 1, "page \(page)")
      if !isFound { missed += 1 }
    }
    #expect(missed > 0 && missed < live.count)
  }

  @Test("a value that reaches beyond the file is an error for a reader, and does not end the process")
  func valueBeyondFile() throws {
    let key: Bytes = Bytes("a key to be found")
    do {
      let environment = try Environment(directory: directory.path, options: .test())
      let table = try environment.table("t")
      try environment.write { try $0.put(Bytes(repeating: 1, count: 10_000), key, table) }
    }
    let bytes = readFile(file)
    let place = try #require(Self.lastPlace(of: key, in: bytes))
    // The size of the value is before its key: low and high half, flags, size of the key.
    patchFile(file, at: place - 8 + 2, [0x40])
    #expect(thrownCode { _ = try Environment(directory: directory.path, options: .test()) } == .damagedPage)
    let environment = try Environment(directory: directory.path, options: .unchecked())
    try environment.read { transaction in
      let table = try transaction.openTable("t", create: false)
      #expect(thrownCode { _ = try transaction.get(key, table) } == .corrupted)
      #expect(thrownCode { _ = try transaction.contains(key.span.bytes, in: table) } == .corrupted)
      #expect(thrownCode { _ = try transaction.entries(table) } == .corrupted)
    }
    #expect(try PageCheck.check(directory: directory.path).contains { $0.kind == .wrongOverflow })
  }

  @Test("if LMDB gives up on it, it prints a message before the process ends")
  func assertion() async throws {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let directory = TemporaryDirectory()
      _ = try SampleStore(in: directory.path, seed: 1)
      let bytes = readFile(directory("data.mdb"))
      // All branch pages get one entry; an assertion of LMDB forbids that.
      for page in 2..<bytes.count / 4096 where bytes[page * 4096 + 10] == 1 {
        patchFile(directory("data.mdb"), at: page * 4096 + 12, [18, 0])
      }
      let environment = try Environment(directory: directory.path, options: .unchecked())
      _ = try environment.read { try $0.entries($0.openTable("short", create: false)).count }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("the data file is damaged"))
  }

  @Test("a check while others write finds a sound file sound", arguments: [false, true])
  func checkUnderLoad(withTransaction: Bool) async throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let large = try environment.table("a")
    let table = try environment.table("t")
    try environment.write { transaction in
      for row in UInt8(0)..<250 { try transaction.put(Bytes(repeating: 1, count: 1500), [row], large) }
    }
    let isDone = Flag()
    let path = directory.path
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 0..<400 {
          #expect(throws: Never.self) {
            try environment.write { transaction in
              for row in UInt8(0)..<60 {
                try transaction.put(Bytes(repeating: 1, count: 100 * (round % 7)), [row], table)
              }
            }
          }
        }
        isDone.raise()
      }
      group.addTask {
        var checks = 0
        while !isDone.isRaised || checks == 0 {
          do {
            let problems: [PageProblem]
            if withTransaction {
              let reader = try environment.beginRead()
              problems = try PageCheck.check(directory: path, transactionID: reader.id)
              reader.abort()
            } else {
              problems = try PageCheck.check(directory: path)
            }
            #expect(problems == [])
            checks += 1
          } catch {
            #expect((error as? LMDBError)?.code == (withTransaction ? .badTransaction : .busy))
            checks += 1
          }
        }
      }
    }
    #expect(try PageCheck.check(directory: path) == [])
  }

  @Test("a check starts again if pages were reused meanwhile")
  func checkAgain() throws {
    let environment = try Environment(directory: directory.path, options: .test())
    let large = try environment.table("a")
    let table = try environment.table("t")
    try environment.write { transaction in
      for row in 0..<1500 {
        try transaction.put(Bytes(repeating: 1, count: 3000), [UInt8(row >> 8), UInt8(row & 255)], large)
      }
      for row in UInt8(0)..<200 { try transaction.put(Bytes(repeating: 1, count: 500), [row], table) }
    }
    var calls = 0
    let problems = try PageCheck.check(directory: directory.path) { _, _ in
      calls += 1
      // The first call is inside the large table, before the other table is checked: that table's pages are
      // reused now.
      guard calls == 1 else { return }
      for round in UInt8(0)..<10 {
        #expect(throws: Never.self) {
          try environment.write { transaction in
            for row in UInt8(0)..<200 { _ = try transaction.delete([row], table) }
            try transaction.put(Bytes(repeating: round, count: 100_000), [round], table)
          }
        }
      }
    }
    #expect(problems == [])
    #expect(calls > 3)
  }

  // MARK: Reading the file

  private func livePages(_ bytes: Bytes) throws -> [Int] {
    // The pages that are a problem if their number is wrong.
    try (2..<bytes.count / Self.pageBytes).filter { page in
      writeFile(file, bytes)
      patchFile(file, at: page * Self.pageBytes + 1, [0x7F])
      return try !PageCheck.check(directory: directory.path).isEmpty
    }
  }

  private static func flags(_ bytes: Bytes, _ page: Int) -> Int { number16(bytes, page * pageBytes + 10) }

  private static func number16(_ bytes: Bytes, _ offset: Int) -> Int {
    Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
  }

  private static func number64(_ bytes: Bytes, _ offset: Int) -> Int {
    (0..<8).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  private static func lastPlace(of key: Bytes, in bytes: Bytes) -> Int? {
    (0...bytes.count - key.count).last { Bytes(bytes[$0..<$0 + key.count]) == key }
  }
}
