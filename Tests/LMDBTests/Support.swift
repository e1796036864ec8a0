import LMDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A temporary directory for a test. It is removed when the test releases it.
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

  /// A path inside the directory.
  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Creates a directory inside it.
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

/// A random generator that is determined by its seed (SplitMix64).
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

/// The code of an `LMDBError` that a call threw, if any.
func thrownCode(_ body: () throws -> Void) -> LMDBError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LMDBError)?.code
  }
}

extension Environment.Options {
  /// Fast, with a map that suits a test.
  static func test(mapBytes: Int = 1 << 30, sync: SyncMode = .none) -> Environment.Options {
    var options = Environment.Options(sync: sync)
    options.mapBytes = mapBytes
    return options
  }

  /// The same for a file whose pages are damaged.
  static func unchecked() -> Environment.Options {
    var options = test()
    options.checkedPagesMax = 0
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

  /// Opens a table in a separate transaction.
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

/// Runs a body on a new thread and waits for it.
func onOtherThread(_ body: @escaping @Sendable () -> Void) {
  let box = Unmanaged.passRetained(ThreadBody(run: body))
  var thread = pthread_t()
  let refusal = pthread_create(
    &thread, nil,
    { argument in
      Unmanaged<ThreadBody>.fromOpaque(argument!).takeRetainedValue().run()
      return nil
    }, box.toOpaque())
  precondition(refusal == 0, "pthread_create refused with error \(refusal)")
  pthread_join(thread, nil)
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// A whole file's bytes.
func readFile(_ path: String) -> Bytes {
  let descriptor = open(path, O_RDONLY)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  var bytes = Bytes(repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
  let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be read: error \(errno)")
  return bytes
}

/// Replaces a whole file's bytes, without a new file.
func writeFile(_ path: String, _ bytes: Bytes) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  precondition(count == bytes.count, "\(path) cannot be written: error \(errno)")
}

/// Overwrites some bytes of a file.
func patchFile(_ path: String, at offset: Int, _ bytes: Bytes) {
  let descriptor = open(path, O_WRONLY)
  precondition(descriptor >= 0, "\(path) cannot be opened: error \(errno)")
  defer { close(descriptor) }
  let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
  precondition(count == bytes.count, "\(path) cannot be written: error \(errno)")
}

/// Ends a helper process whose condition does not hold.
func demand(_ condition: Bool, _ message: String = "a helper process found what must not be") {
  precondition(condition, message)
}

/// A flag that one task sets for another.
final class Flag: Sendable {
  private let atomic = Atomic(false)

  var isRaised: Bool { atomic.load(ordering: .acquiring) }

  func raise() { atomic.store(true, ordering: .releasing) }
}
