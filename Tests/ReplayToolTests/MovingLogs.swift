import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Moving a log to another store")
struct MovingLogs {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  var copy: String { temporary.path + "/copy" }

  /// A store of random transactions of three replicas in two zones, including unknown operations.
  private func makeRandomStore(_ path: String, seed: UInt64, count: Int) async throws {
    var random = RandomContent(seed: seed)
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let zones = [ZoneID(name: "é"), ZoneID(owner: "o/o", name: "a:b")]
    try await store.write { tx in for zone in zones { try tx.createZone(zone) } }
    var sequences: [String: UInt64] = [:]
    for number in 0..<count {
      let zone = zones[random.below(2)]
      let replica = ReplicaID(rawValue: UInt128(random.below(3) + 1))
      let sequence = sequences["\(zone)\(replica)", default: 0] + 1
      let transaction = random.transaction(replica, sequence: sequence, zone: zone)
      guard let bytes = try? transaction.encoded() else { continue }
      sequences["\(zone)\(replica)"] = sequence
      let offset = sequences["\(zone)", default: 0] + 1
      sequences["\(zone)"] = offset
      _ = try await store.ingest([
        RemoteSegment(
          zone: zone, incarnation: IncarnationID(rawValue: 9), offset: offset,
          hash: ContentHash(of: bytes.span.bytes),
          receivedMilliseconds: number % 3 == 0 ? nil : 1_769_850_000_000, transactions: [bytes])
      ])
    }
  }

  private func transactions(_ path: String) throws -> [[UInt8]] {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    return try store.read { transaction in
      var found: [[UInt8]] = []
      let last = try transaction.lastPosition().rawValue
      guard last > 0 else { return [] }
      for position in 1...last { found.append(try transaction.bytes(at: Position(rawValue: position))) }
      return found
    }
  }

  @Test("random transactions keep their bytes, arrivals and digests")
  func isLossless() async throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    for seed in [3, seed] {
      let path = temporary.path + "/random\(seed)"
      try await makeRandomStore(path, seed: seed, count: 120)
      let exported = await tool.run("export", path)
      #expect(exported.exit == 0)
      let target = copy + "\(seed)"
      let imported = await tool.run("import", target, input: Array(exported.output.utf8))
      #expect(imported.errors == "")
      let (before, after) = (try transactions(path), try transactions(target))
      #expect(before.count > 100)
      #expect(before == after)
      let again = await tool.run("export", target)
      #expect(again.lines.dropFirst() == exported.lines.dropFirst())
      let digests = (await tool.run("digest", path), await tool.run("digest", target))
      #expect(digests.0.output == digests.1.output)
      let verified = await tool.run("verify", target)
      #expect(verified.exit == 0, "\(verified.output)")
    }
  }

  @Test("places in the remote log, tokens and receive times are moved too")
  func movesSyncState() async throws {
    let store = try await ShoppingStore()
    let exported = await tool.run("export", store.path)
    let imported = await tool.run("import", copy, "--json", input: Array(exported.output.utf8))
    #expect(imported.output == #"{"lines":10,"transactions":4}"# + "\n")
    let again = await tool.run("export", copy)
    #expect(again.lines.dropFirst() == exported.lines.dropFirst())
    let explained = await tool.run("explain", copy, "shopping:milk", "amount")
    #expect(
      explained.output.contains("Its clock was ahead: the remote received it at 2026-01-31T09:01:40.000Z"))
  }

  @Test("a log that lacks a segment between two of a lane is not imported")
  func refusesHoles() async throws {
    let (path, remote) = (temporary.path + "/holes", "folder:" + temporary.path + "/remote")
    for number in 1...3 {
      let line = #"{"record":"home:m\#(number)","type":"task","fields":{"a":\#(number)}}"#
      #expect(await tool.run("import", path, "-", input: Array(line.utf8)).exit == 0)
      let more = number == 1 ? ["--create-remote", "--attach", "home"] : []
      #expect(await tool.run(["sync", path, "--remote", remote] + more).exit == 0)
    }
    var lines = await tool.run("export", path).lines
    let segments = lines.indices.filter { lines[$0].contains(#""segment":"#) }
    #expect(segments.count == 3, "\(lines)")
    lines.remove(at: segments[1])
    let end = try #require(lines.lastIndex { $0.contains(#""end":"#) })
    lines[end] = #"{"end":{"lines":\#(end)}}"#
    let refused = await tool.run("import", copy, input: Array(lines.joined(separator: "\n").utf8 + [10]))
    #expect(refused.exit != 0 && refused.errors.contains("begins at sequence 3"), "\(refused)")
  }

  @Test(
    "an exported file never replaces a file of a store", arguments: ["data.mdb", "lock.mdb", "store.mark"])
  func keepsStores(_ name: String) async throws {
    let store = try await ShoppingStore()
    let refused = await tool.run("export", store.path, "-o", store.path + "/" + name)
    #expect(refused.exit == 2 && refused.errors.contains("is a file of a store"), "\(refused)")
    #expect(await tool.run("verify", store.path).exit == 0)
  }

  @Test("a transaction that is too long for a line is exported in its compact form")
  func compactsLongLines() async throws {
    let path = temporary.path + "/large"
    let store = try ShoppingStore.open(path)
    let id = RecordID(zone: ZoneID(name: "z"), name: "r")
    try await store.write { tx in
      try tx.createZone(id.zone)
      try tx.create(id, type: "t")
      // Each is six bytes of JSON.
      for field in 0..<4 {
        try tx.set(Name("f\(field)"), of: id, to: .string(String(repeating: "\u{1}", count: 1_000_000)))
      }
    }
    store.close()
    let exported = await tool.run("export", path)
    let line = try #require(exported.lines.dropFirst(2).first)
    #expect(line.utf8.count < 8_000_000)
    #expect(line.contains(#""bytes":""#))
    let imported = await tool.run("import", copy, input: Array(exported.output.utf8))
    #expect(imported.exit == 0, "\(imported.errors)")
    let (before, after) = (try transactions(path), try transactions(copy))
    #expect(before == after)
  }

  @Test("a store that has a log refuses an import")
  func refusesUsedStore() async throws {
    let store = try await ShoppingStore()
    let exported = await tool.run("export", store.path)
    let result = await tool.run("import", store.path, input: Array(exported.output.utf8))
    #expect(result.exit == 2)
    #expect(result.errors.contains("already has a log, up to position 4; nothing was imported"))
    let after = await tool.run("export", store.path)
    #expect(after.output == exported.output)
  }

  @Test("a damaged line is reported with its number, and nothing is imported", arguments: 0..<19)
  func refusesDamage(_ kind: Int) async throws {
    let store = try await ShoppingStore()
    var lines = await tool.run("export", store.path).lines
    // Lines 1 to 10: store, zone, three segments, four transactions, end.
    #expect(lines.count == 11)
    func replace(_ number: Int, _ old: String, _ new: String) {
      let changed = lines[number - 1].replacing(old, with: new, maxReplacements: 1)
      #expect(changed != lines[number - 1], "the test's own line has no \(old)")
      lines[number - 1] = changed
    }
    let expected: String
    switch kind {
    case 0: (expected, lines[6]) = ("line 7", "{")
    case 1: (expected, lines[6]) = ("line 7", #"{"record":"a:b"}"#)
    case 2: (expected, lines[6]) = ("line 7", "[]")
    case 3:
      expected = "line 7 of standard input: the line was changed"
      replace(7, "Rename", "rename")
    case 4:
      expected = "line 6"
      replace(6, #""sequence":1"#, #""sequence":"1""#)
    case 5:
      expected = "line 6"
      replace(6, #""epoch":0"#, #""epoch":-1"#)
    case 6:
      expected = "line 6"
      replace(6, #""epoch":0"#, #""epoch":0,"extra":1"#)
    case 7: (expected, lines[5]) = ("line 6", lines[6])
    case 8:
      (expected, lines) = ("line 1 of standard input: the first line of a log", Array(lines.dropFirst()))
    case 9: (expected, lines[4]) = ("line 5 of standard input: a second line of kind “store”", lines[0])
    case 10:
      expected = "no zone"
      lines.remove(at: 1)
      replace(9, #""lines":9"#, #""lines":8"#)
    case 11:
      expected = "line 1"
      replace(1, #""version":2"#, #""version":3"#)
    case 12:
      expected = "line 4"
      replace(4, #""first":1"#, #""first":5"#)
    case 13:
      (expected, lines[8]) = (
        "line 9",
        #"{"transaction":{"arrived":0,"bytes":"AAAA","position":1,"sha256":"\#(String(repeating: "0", count: 64))"}}"#
      )
    case 14:
      expected = "line 6"
      replace(6, #""arrived":1"#, #""arrived":999999999"#)
    // No log has the greatest possible numbers, because the next number is computed.
    case 15:
      expected = "first or more, from 1, was expected"
      replace(4, #""last":"#, #""last":18446744073709551615,"was":"#)
    case 16:
      expected = "an offset of a log was expected"
      replace(4, #""offset":"#, #""offset":9223372036854775808,"was":"#)
    case 17:
      expected = "the number of a reason that this version knows was expected"
      replace(4, #""first":1"#, #""rejected":10,"first":1"#)
    default:
      expected = "line 8"
      lines.insert(lines[6], at: 7)
    }
    let result = await tool.run("import", copy, input: Array(lines.joined(separator: "\n").utf8))
    #expect(result.exit == 2)
    #expect(result.errors.contains(expected), "\(result.errors)")
    #expect(result.errors.contains("nothing was imported"), "\(result.errors)")
    #expect(result.errors.contains("hint: "))
    let left = (try? transactions(copy)) ?? []
    #expect(left.isEmpty)
  }

  @Test(
    "a log that is cut at any line is refused; a file of version 1 does not mark its end"
  )
  func refusesCutLogs() async throws {
    let store = try await ShoppingStore()
    let lines = await tool.run("export", store.path).lines.filter { !$0.isEmpty }
    #expect(lines.last == #"{"end":{"lines":9}}"#)
    let file = temporary.path + "/cut.jsonl"
    for kept in 1..<lines.count {
      let bytes = Array(lines.prefix(kept).joined(separator: "\n").utf8)
      try Data(bytes).write(to: URL(fileURLWithPath: file))
      for cut in [await tool.run("import", copy, file), await tool.run("import", copy, input: bytes)] {
        #expect(cut.exit == 2 && cut.errors.contains("is cut"), "\(cut)")
        #expect(cut.errors.contains("its last line, of kind “end”, is missing; nothing was imported"))
        #expect(cut.errors.contains("hint: copy the whole file, or export it again with --output"))
      }
    }
    // The end of a pipe is seen last: a partial line is a cut too.
    for line in 1..<lines.count {
      let part = lines.prefix(line).joined(separator: "\n") + "\n" + lines[line].dropLast(3)
      let cut = await tool.run("import", copy, input: Array(part.utf8))
      #expect(cut.exit == 2 && cut.errors.contains("is cut after \(line) line"), "\(cut)")
    }
    // One line is missing in the middle, or there is one too many.
    var fewer = lines
    fewer.remove(at: 3)
    let hole = await tool.run("import", copy, input: Array(fewer.joined(separator: "\n").utf8))
    #expect(
      hole.exit == 2 && hole.errors.contains("has 8 lines before its last one, which counts 9"), "\(hole)")
    let more = await tool.run("import", copy, input: Array((lines + [lines[2]]).joined(separator: "\n").utf8))
    #expect(more.exit == 2 && more.errors.contains("line 11 of standard input: a line after the last one"))
    let nothing = (try? transactions(copy)) ?? []
    #expect(nothing.isEmpty)
    var old = lines.dropLast()
    old[0] = old[0].replacing(#""version":2"#, with: #""version":1"#)
    let cut = await tool.run("import", copy + "1", input: Array(old.dropLast().joined(separator: "\n").utf8))
    #expect(cut.exit == 2 && cut.errors.contains("and the log has them up to 0"), "\(cut)")
    let former = await tool.run("import", copy + "2", input: Array(old.joined(separator: "\n").utf8))
    #expect(former.output == "imported 4 transactions\n", "\(former)")
  }

  /// A store whose log, of 12 transactions, is imported in several parts; returns its path.
  private func makeLargeStore() async throws -> String {
    let path = temporary.path + "/large"
    let store = try ShoppingStore.open(path)
    let zone = ZoneID(name: "z")
    for number in 0..<12 {
      try await store.write { tx in
        try tx.createZone(zone)
        let id = RecordID(zone: zone, name: Name("r\(number)"))
        try tx.create(id, type: "t", fields: ["text": .string(String(repeating: "x", count: 1_000_000))])
      }
    }
    store.close()
    return path
  }

  @Test("of a large cut file nothing is imported: its end is checked first")
  func refusesLargeCutFiles() async throws {
    let path = try await makeLargeStore()
    let file = temporary.path + "/large.jsonl"
    #expect(await tool.run("export", path, "--output", file).exit == 0)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    let end = try #require(bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")))
    try bytes[...end].write(to: URL(fileURLWithPath: file))
    let cut = await tool.run("import", copy, file)
    #expect(cut.exit == 2 && cut.errors.contains("is cut: its last line"), "\(cut)")
    #expect(cut.errors.contains("nothing was imported") && access(copy, F_OK) != 0)
  }

  @Test("a large log is imported in parts, and an error says how far")
  func importsLargeLogsInParts() async throws {
    let path = try await makeLargeStore()
    var lines = await tool.run("export", path).lines
    let whole = await tool.run("import", copy, input: Array(lines.joined(separator: "\n").utf8))
    #expect(whole.output == "imported 12 transactions\n")
    lines[12] = "damaged"
    let result = await tool.run("import", copy + "2", input: Array(lines.joined(separator: "\n").utf8))
    #expect(result.exit == 2)
    #expect(result.errors.contains("line 13 of standard input"))
    #expect(result.errors.contains("lines 1 to 10 were imported"), "\(result.errors)")
    #expect(result.errors.contains("remove the store and import again"), "\(result.errors)")
    let left = await tool.run("info", copy + "2")
    #expect(left.exit == 3 && left.errors.contains("has a part of a log"), "\(left)")
    let digests = (await tool.run("digest", path), await tool.run("digest", copy))
    #expect(digests.0.output == digests.1.output && digests.0.exit == 0)
  }

  @Test("a store whose import was killed is refused by every command, with advice")
  func refusesUnfinishedImports() async throws {
    let source = try await ShoppingStore()
    var lines: [ExportedLine] = []
    let opened = try ShoppingStore.open(source.path)
    try opened.read { tx in
      try tx.forEachExportedLine {
        lines.append($0)
        return true
      }
    }
    opened.close()
    let cut = try LocalStore(directory: copy, durability: .consistent)
    try await cut.importLines(lines, isMoreToCome: true)
    cut.close()
    let exported = Array(await tool.run("export", source.path).output.utf8)
    for command in [
      ["info"], ["state"], ["verify"], ["export"], ["export", "--records"], ["digest"], ["rebuild"],
      ["import"],
      ["sync", "--remote", "folder:\(temporary.path)/remote"],
    ] {
      let result = await tool.run([command[0], copy] + command.dropFirst(), input: exported)
      #expect(result.exit == 3 && result.output == "", "\(command): \(result)")
      #expect(
        result.errors.contains("has a part of a log: its import was cut short"), "\(command): \(result)")
      #expect(result.errors.contains("remove the directory, and import the same file again"), "\(command)")
    }
    let inJSON = await tool.run("info", copy, "--json")
    #expect(inJSON.errors.contains(#""code":"importUnfinished""#), "\(inJSON)")
    try FileManager.default.removeItem(atPath: copy)
    let again = await tool.run("import", copy, input: exported)
    #expect(again.exit == 0 && again.output == "imported 4 transactions\n", "\(again)")
  }

  @Test("one zone can be exported, but not a part of its log: its place in the remote log would be wrong")
  func filters() async throws {
    let path = temporary.path + "/random"
    try await makeRandomStore(path, seed: 8, count: 40)
    let exported = await tool.run("export", path, "--zone", "é")
    let cut = await tool.run("import", copy, "--limit", "5", input: Array(exported.output.utf8))
    #expect(cut.exit == 2 && cut.errors.contains("it is for records, and for commits"), "\(cut)")
    #expect(access(copy, F_OK) != 0, "nothing is made")
    let imported = await tool.run("import", copy, input: Array(exported.output.utf8))
    #expect(imported.exit == 0, "\(imported)")
    let digest = await tool.run("digest", copy)
    #expect(digest.output.hasSuffix("  é\n"))
  }

  @Test("a file gets its name when it is complete")
  func writesFiles() async throws {
    let store = try await ShoppingStore()
    let file = temporary.path + "/log.jsonl"
    let exported = await tool.run("export", store.path, "--output", file)
    #expect(exported.output == "wrote 10 lines to \(file)\n")
    let imported = await tool.run("import", copy, file)
    #expect(imported.output == "imported 4 transactions\n")
    let failed = await tool.run("export", store.path, "--output", temporary.path + "/none/log.jsonl")
    #expect(failed.exit == 2)
    let directory = await tool.run("export", store.path, "--output", temporary.path)
    #expect(directory.exit == 2)
  }

  @Test("other kinds of files are written in place, and a link stays a link")
  func keepsPlaces() async throws {
    let store = try await ShoppingStore()
    let (pipe, link, file) = (temporary.path + "/pipe", temporary.path + "/link", temporary.path + "/file")
    try #require(mkfifo(pipe, 0o600) == 0)
    let reader = open(pipe, O_RDWR)
    defer { close(reader) }
    let piped = await tool.run("export", store.path, "--records", "--output", pipe)
    #expect(piped.exit == 0)
    let source = DescriptorSource(descriptor: reader, name: "pipe", closes: false)
    let read = try source.read(upTo: 4096)
    #expect(String(decoding: read, as: UTF8.self).hasPrefix(#"{"fields":{"amount":3"#))
    close(open(file, O_WRONLY | O_CREAT, 0o600))
    try #require(symlink(file, link) == 0)
    let linked = await tool.run("export", store.path, "--output", link)
    #expect(linked.exit == 0)
    var status = stat()
    lstat(link, &status)
    #expect(status.st_mode & S_IFMT == S_IFLNK)
    stat(file, &status)
    #expect(status.st_size > 1000)
  }
}
