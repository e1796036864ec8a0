#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension LMDBError {
  /// An error's number: LMDB uses −30799…−30780, the operating system positive numbers, this wrapper −100…−1.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int32

    package init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    // LMDB's own, as lmdb.h numbers them.
    package static let keyExists = Code(rawValue: -30799)
    package static let notFound = Code(rawValue: -30798)
    package static let pageNotFound = Code(rawValue: -30797)
    package static let corrupted = Code(rawValue: -30796)
    package static let panic = Code(rawValue: -30795)
    package static let versionMismatch = Code(rawValue: -30794)
    static let invalid = Code(rawValue: -30793)
    package static let mapFull = Code(rawValue: -30792)
    package static let tablesFull = Code(rawValue: -30791)
    package static let readersFull = Code(rawValue: -30790)
    static let threadStorageFull = Code(rawValue: -30789)
    static let transactionFull = Code(rawValue: -30788)
    package static let cursorFull = Code(rawValue: -30787)
    package static let pageFull = Code(rawValue: -30786)
    package static let mapResized = Code(rawValue: -30785)
    static let incompatible = Code(rawValue: -30784)
    static let badReaderSlot = Code(rawValue: -30783)
    package static let badTransaction = Code(rawValue: -30782)
    package static let badValueSize = Code(rawValue: -30781)
    static let badTable = Code(rawValue: -30780)

    // Our own.
    package static let alreadyOpen = Code(rawValue: -1)
    package static let closed = Code(rawValue: -2)
    package static let forked = Code(rawValue: -3)
    package static let truncatedFile = Code(rawValue: -4)
    static let networkFileSystem = Code(rawValue: -5)
    package static let notAStore = Code(rawValue: -6)
    package static let damagedPage = Code(rawValue: -7)

    // The operating system's.
    package static let noSuchFile = Code(rawValue: ENOENT)
    package static let inputOutput = Code(rawValue: EIO)
    package static let outOfMemory = Code(rawValue: ENOMEM)
    package static let accessDenied = Code(rawValue: EACCES)
    static let notPermitted = Code(rawValue: EPERM)
    package static let busy = Code(rawValue: EBUSY)
    package static let fileExists = Code(rawValue: EEXIST)
    package static let notADirectory = Code(rawValue: ENOTDIR)
    static let invalidArgument = Code(rawValue: EINVAL)
    static let tooManyFilesInSystem = Code(rawValue: ENFILE)
    package static let tooManyOpenFiles = Code(rawValue: EMFILE)
    package static let fileTooLarge = Code(rawValue: EFBIG)
    package static let noSpace = Code(rawValue: ENOSPC)
    package static let readOnlyFileSystem = Code(rawValue: EROFS)
    package static let quotaExceeded = Code(rawValue: EDQUOT)
  }
}

extension LMDBError.Code: CustomStringConvertible {
  /// The C symbol, our own name, or `errno` and the number.
  package var description: String {
    row?.symbol ?? "errno \(rawValue)"
  }

  /// The meaning, as a sentence without its full stop.
  package var explanation: String {
    row?.explanation ?? "the operating system refused: \(String(cString: strerror(rawValue)))"
  }

  /// What to do, if the failing call gives no better hint.
  package var defaultHint: String {
    row?.hint ?? "Check the path and its disk"
  }

  private typealias Row = (symbol: String, explanation: String, hint: String)

  private static let report = "This is a defect of the program; report it"
  private static let restore = "Run the page check, and restore a copy if it finds damage"
  private static let makeRoom = "Free space, then try again; everything committed before is intact"
  private static let grow = "Grow the map, then run the transaction again"

  private var row: Row? {
    switch self {
    case .keyExists: ("MDB_KEYEXIST", "the key exists already, or is out of order for an append", Self.report)
    case .notFound: ("MDB_NOTFOUND", "no such key or table exists", "Create it first")
    case .pageNotFound: ("MDB_PAGE_NOTFOUND", "the tree refers to a missing page", Self.restore)
    case .corrupted: ("MDB_CORRUPTED", "the data file is damaged", Self.restore)
    case .panic:
      (
        "MDB_PANIC", "an earlier write of the meta page failed, so the environment refuses every call",
        "Close the environment and open it again"
      )
    case .versionMismatch:
      (
        "MDB_VERSION_MISMATCH", "the file was written by another version of LMDB",
        "Use that version's library"
      )
    case .invalid: ("MDB_INVALID", "the file is not an LMDB file", "Give the directory of a store")
    case .mapFull: ("MDB_MAP_FULL", "the reserved address space is full", Self.grow)
    case .tablesFull: ("MDB_DBS_FULL", "the tables exceed the limit", "Open with a greater tablesMax")
    case .readersFull:
      (
        "MDB_READERS_FULL", "all reader slots are in use, even after clearing those of dead processes",
        "End read transactions that nobody needs, or open with a greater readersMax in all processes"
      )
    case .threadStorageFull: ("MDB_TLS_FULL", "no thread-local key is left", Self.report)
    case .transactionFull:
      ("MDB_TXN_FULL", "the transaction has changed too many pages", "Split it into several transactions")
    case .cursorFull: ("MDB_CURSOR_FULL", "a tree is deeper than 32 pages", Self.restore)
    case .pageFull: ("MDB_PAGE_FULL", "a page lacks the space that it must have", Self.restore)
    case .mapResized: ("MDB_MAP_RESIZED", "another process has grown the file beyond this map", "Try again")
    case .incompatible: ("MDB_INCOMPATIBLE", "the table is of another kind", Self.report)
    case .badReaderSlot: ("MDB_BAD_RSLOT", "a reader slot was used twice or cleared", Self.report)
    case .badTransaction:
      ("MDB_BAD_TXN", "the transaction failed before and can only be aborted", "Abort it and begin another")
    case .badValueSize:
      ("MDB_BAD_VALSIZE", "a key is empty or longer than 511 bytes, or a value is too long", Self.report)
    case .badTable: ("MDB_BAD_DBI", "the table's handle is no longer valid", "Open the table again")
    case .alreadyOpen:
      (
        "already open", "this process already has the data file open, perhaps under another path",
        "Use the one that is open, or close it first"
      )
    case .closed: ("closed", "the environment is closed", "Open it again")
    case .forked:
      (
        "forked", "the environment was opened before fork, in the parent process",
        "Open it again in the child"
      )
    case .truncatedFile: ("truncated file", "the data file is shorter than its header says", "Restore a copy")
    case .networkFileSystem:
      (
        "network file system",
        "the directory is on a network file system, where locks and maps are not safe",
        "Move the store to a local disk, or allow it if only one machine ever opens it"
      )
    case .notAStore: ("not a store", "the file is not an LMDB data file", "Give the directory of a store")
    case .damagedPage: ("damaged page", "a page of the data file is damaged", Self.restore)
    default: systemRow
    }
  }

  private var systemRow: Row? {
    switch self {
    case .noSuchFile: ("ENOENT", "no such file or directory", "Create the directory first")
    case .inputOutput:
      ("EIO", "the disk failed to read or write, or is full", "Make room, or check the disk; then open again")
    case .outOfMemory:
      ("ENOMEM", "no memory or address space is left", "Free memory, or reserve a smaller map")
    case .accessDenied: ("EACCES", "access is denied", "Check who owns the files, and their permissions")
    case .notPermitted: ("EPERM", "the operation is not permitted", "Check the files' permissions and flags")
    case .busy: ("EBUSY", "it is in use", "Try again when the transactions that use it have ended")
    case .fileExists: ("EEXIST", "the file exists already", "Give an empty directory")
    case .notADirectory: ("ENOTDIR", "the path is not a directory", "Give the directory of the store")
    case .invalidArgument: ("EINVAL", "an argument is not valid", Self.report)
    case .tooManyFilesInSystem:
      ("ENFILE", "the system has too many open files", "Close files, then try again")
    case .tooManyOpenFiles:
      ("EMFILE", "the process has too many open files", "Close files or raise the limit")
    case .fileTooLarge:
      ("EFBIG", "the file would exceed the limit for file sizes", "Raise the limit (ulimit -f)")
    case .noSpace: ("ENOSPC", "the disk is full", Self.makeRoom)
    case .readOnlyFileSystem: ("EROFS", "the file system is read-only", "Open read-only, or remount it")
    case .quotaExceeded: ("EDQUOT", "the disk quota is used up", Self.makeRoom)
    default: nil
    }
  }
}
