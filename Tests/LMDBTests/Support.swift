import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A directory of its own for a test, removed when the test lets go of it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/lmdb-tests-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
    precondition(made, "mkdtemp refused with error \(errno)")
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit {
    for name in Self.names(path) { Self.remove(path + "/" + name) }
    rmdir(path)
  }

  /// A path inside.
  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Makes a directory inside.
  func directory(_ name: String) -> String {
    mkdir(self(name), 0o700)
    return self(name)
  }

  private static func names(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    for name in names(path) { remove(path + "/" + name) }
    rmdir(path)
  }
}

/// A generator whose sequence its seed tells (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

typealias Bytes = [UInt8]

/// What a call threw, if it was an `LMDBError`.
func thrownCode(_ body: () throws -> Void) -> LMDBError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LMDBError)?.code
  }
}

extension Environment.Options {
  /// Fast, and with a map that suits a test.
  static func test(mapBytes: Int = 1 << 30, sync: SyncMode = .none) -> Environment.Options {
    var options = Environment.Options(sync: sync)
    options.mapBytes = mapBytes
    return options
  }
}

extension Environment {
  /// Runs a body in a write transaction and commits it.
  func write<R>(_ body: (borrowing Transaction) throws -> R) throws -> R {
    let transaction = try beginWrite()
    let result = try body(transaction)
    try transaction.commit()
    return result
  }

  /// Runs a body in a read transaction.
  func read<R>(_ body: (borrowing Transaction) throws -> R) throws -> R {
    let transaction = try beginRead()
    return try body(transaction)
  }

  /// Opens a table in a transaction of its own.
  func table(_ name: String) throws -> Table {
    try write { try $0.openTable(name, create: true) }
  }
}

extension Transaction {
  borrowing func put(_ value: Bytes, _ key: Bytes, _ table: Table) throws {
    try put(value.span.bytes, for: key.span.bytes, in: table)
  }

  borrowing func get(_ key: Bytes, _ table: Table) throws -> Bytes? {
    try withValue(of: key.span.bytes, in: table) { Bytes($0) }
  }

  borrowing func delete(_ key: Bytes, _ table: Table) throws -> Bool {
    try delete(key.span.bytes, in: table)
  }

  /// All entries of a table, in order.
  borrowing func entries(_ table: Table) throws -> [Pair] {
    var cursor = try openCursor(table)
    var pairs: [Pair] = []
    var isThere = try cursor.first()
    while isThere {
      pairs.append(cursor.withEntry { Pair(key: Bytes($0), value: Bytes($1)) })
      isThere = try cursor.next()
    }
    return pairs
  }
}

struct Pair: Equatable {
  var key: Bytes
  var value: Bytes
}

extension Bytes {
  init(_ span: RawSpan) {
    self = span.withUnsafeBytes { Array($0) }
  }

  init(_ text: String) {
    self = Array(text.utf8)
  }
}
