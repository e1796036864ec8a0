import LMDB
import OperationFormat

/// Where the records of a store are kept as they were at the positions of its log: an environment of its own, with the
/// tables of a store. Those that a fold writes keep versions: the version of a row is the position up to which was
/// folded when it was written.
///
/// All of it can be made again from the log. A mark stands for each position up to which was folded at one time: it can
/// be read there. A position between two marks is read from a branch of the first, into which the entries between are
/// folded.
///
/// | table `past` | key | value |
/// |---|---|---|
/// | of what it was made | 0 (1) | ``PastOrigin``, and a checksum |
/// | mark | 1 (1), position (8, big-endian) | checksum of the transaction there (8); 0 if it is gone |
/// | branch | 2 (1), position (8, big-endian) | the mark from which it comes (8, big-endian) |
final class PastTables: Sendable {
  let environment: Environment
  let tables: Tables
  let marks: Table
  /// Its map does not grow.
  private static let mapBytesMin = 1 << 36

  /// Removed at the end; nil if it stays.
  private let scratchDirectory: String?

  /// - Parameter directory: where they are, beside the data of the store; nil for temporary ones.
  init(directory: String?, _ configuration: StoreConfiguration) throws {
    var making: DirectoryLock?
    if let directory {
      try SystemEnvironment.makeDirectory(directory)
      scratchDirectory = nil
      // What another process is making looks damaged.
      making = try DirectoryLock(directory, isRequired: false)
    } else {
      scratchDirectory = try SystemEnvironment.makeScratchDirectory(in: configuration.scratchDirectory)
    }
    do {
      // A power cut may undo the last steps. It breaks nothing that is kept.
      let isKept = directory != nil && !configuration.isUnsynced
      var options = Environment.Options(sync: isKept ? .noMetaSync : .none)
      options.tablesMax = 32
      options.mapBytes = max(configuration.mapBytes, Self.mapBytesMin)
      environment = try Self.open(directory ?? scratchDirectory!, options)
    } catch {
      if let scratchDirectory { SystemEnvironment.removeScratchDirectory(scratchDirectory) }
      throw error
    }
    let transaction = try environment.beginWrite()
    tables = try Tables(in: transaction, create: true, keepingVersions: true)
    marks = try transaction.openTable("past", create: true)
    try transaction.commit()
    extendLifetime(making)
  }

  /// Opens an environment. One that is damaged is made again.
  private static func open(_ directory: String, _ options: Environment.Options) throws(LMDBError)
    -> Environment
  {
    do throws(LMDBError) {
      return try Environment(directory: directory, options: options)
    } catch {
      guard [.notAStore, .damagedPage, .truncatedFile, .versionMismatch, .corrupted].contains(error.code)
      else {
        throw error
      }
      SystemEnvironment.removeDataFiles(in: directory)
      return try Environment(directory: directory, options: options)
    }
  }

  deinit {
    close()
    if let scratchDirectory { SystemEnvironment.removeScratchDirectory(scratchDirectory) }
  }

  func close() { environment.close() }

  /// Begins to read what was folded up to a position; nil if nothing was.
  func beginRead(at position: Position) throws -> LMDBTransaction? {
    let transaction = try environment.beginRead()
    guard try open(position, transaction) else { return nil }
    return transaction
  }

  /// Lets a transaction read what was folded up to a position. Returns whether anything was.
  func open(_ position: Position, _ transaction: borrowing LMDBTransaction) throws -> Bool {
    if try transaction.contains(Self.key(.mark, position).span.bytes, in: marks) {
      transaction.version = position.rawValue
      return true
    }
    let key = Self.key(.branch, position)
    guard let mark = try transaction.withValue(of: key.span.bytes, in: marks, { try $0.bigEndian64(at: 0) })
    else { return false }
    (transaction.version, transaction.branch) = (mark, position.rawValue)
    return true
  }

  // MARK: Marks

  private enum Row: UInt8 {
    case origin, mark, branch
  }

  private static func key(_ row: Row, _ position: Position? = nil) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(row.rawValue)
    if let position { writer.append(bigEndian: position.rawValue) }
    return writer.bytes
  }

  /// The last mark up to a position, and the checksum of the transaction there; nil if there is none.
  func lastMark(
    through position: Position, _ transaction: borrowing LMDBTransaction
  ) throws -> (position: Position, checksum: UInt64)? {
    var cursor = try transaction.openCursor(marks)
    guard try cursor.seek(atMost: Self.key(.mark, position).span.bytes) else { return nil }
    return try cursor.withEntry { key, value in
      guard key.byteCount == 9 else { return nil }
      return (Position(rawValue: try key.bigEndian64(at: 1)), try value.bigEndian64(at: 0))
    }
  }

  func putMark(_ position: Position, _ checksum: UInt64, _ transaction: borrowing LMDBTransaction) throws {
    var writer = ByteWriter()
    writer.append(bigEndian: checksum)
    try transaction.put(writer.span, for: Self.key(.mark, position).span.bytes, in: marks)
  }

  /// So many branches are kept.
  private static let branchesMax = 256

  /// Begins the branch of a position. If there are very many, they all go first.
  func beginBranch(_ position: Position, from mark: Position, _ transaction: borrowing LMDBTransaction) throws
  {
    var count = 0
    try transaction.forEachEntry(in: marks, under: Self.key(.branch)) { _, _ in
      count += 1
      return true
    }
    if count >= Self.branchesMax {
      for (_, table) in tables.all { try transaction.removeBranches(in: table) }
      try transaction.deleteEntries(in: marks, under: Self.key(.branch), &count)
    }
    var writer = ByteWriter()
    writer.append(bigEndian: mark.rawValue)
    try transaction.put(writer.span, for: Self.key(.branch, position).span.bytes, in: marks)
    (transaction.version, transaction.branch) = (mark.rawValue, position.rawValue)
  }

  /// Of what it was made; nil if it was not, or cannot be read.
  func origin(_ transaction: borrowing LMDBTransaction) throws -> PastOrigin? {
    let bytes = Self.key(.origin)
    let key = bytes.span.bytes
    return try transaction.withValue(of: key, in: marks) { row in
      try? PastOrigin(CheckedRow.content(of: row, under: key))
    } ?? nil
  }

  func setOrigin(_ origin: PastOrigin, _ transaction: borrowing LMDBTransaction) throws {
    let bytes = Self.key(.origin)
    let key = bytes.span.bytes
    var writer = ByteWriter()
    origin.append(to: &writer)
    writer.appendChecksum(under: key)
    try transaction.put(writer.span, for: key, in: marks)
  }

  func removeAll(_ transaction: borrowing LMDBTransaction) throws {
    for (_, table) in tables.all { try transaction.removeAll(in: table) }
    try transaction.removeAll(in: marks)
  }
}
