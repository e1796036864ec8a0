import LMDB
import OperationFormat

/// What went wrong in a store: what, where, and what to do.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// What kind of error it is. More may come; treat one you do not know as a failure.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// The store has no such zone.
    public static let zoneUnknown = Code(rawValue: "zoneUnknown")
    /// The zone has no such record, or it was deleted.
    public static let recordUnknown = Code(rawValue: "recordUnknown")
    /// The record is there already.
    public static let recordExists = Code(rawValue: "recordExists")
    /// The log has no such position.
    public static let positionUnknown = Code(rawValue: "positionUnknown")
    /// The record has no such losing value, or has it no more.
    public static let conflictUnknown = Code(rawValue: "conflictUnknown")
    /// A pinned read was released, or its budget is used up.
    public static let expired = Code(rawValue: "expired")
    /// The history that is asked for was retired.
    public static let retired = Code(rawValue: "retired")
    /// The state of a zone is not that of its remote log: something waits to be sent, or is being read.
    public static let unsettled = Code(rawValue: "unsettled")
    /// The transaction cannot be taken back, or brought back.
    public static let notUndoable = Code(rawValue: "notUndoable")
    /// A name is empty or too long.
    public static let nameInvalid = Code(rawValue: "nameInvalid")
    /// A value is too large or too deep.
    public static let valueInvalid = Code(rawValue: "valueInvalid")
    /// A list or a text has no such index.
    public static let indexInvalid = Code(rawValue: "indexInvalid")
    /// An index is defined as none can be.
    public static let definitionInvalid = Code(rawValue: "definitionInvalid")
    /// A field is of another kind than the verb.
    public static let kindMismatch = Code(rawValue: "kindMismatch")
    /// The zone takes writes only of newer versions of the app.
    public static let schemaTooOld = Code(rawValue: "schemaTooOld")
    /// A list has no such element, or has it no more.
    public static let elementUnknown = Code(rawValue: "elementUnknown")
    /// One write makes more than a transaction may hold.
    public static let transactionTooLarge = Code(rawValue: "transactionTooLarge")
    /// An asset is not here.
    public static let assetMissing = Code(rawValue: "assetMissing")
    /// An asset's file has other bytes than its hash says.
    public static let assetDamaged = Code(rawValue: "assetDamaged")
    /// The directory holds no store.
    public static let notAStore = Code(rawValue: "notAStore")
    /// The user may not read the store's files, or may not write what reading needs.
    public static let accessDenied = Code(rawValue: "accessDenied")
    /// The store, or a part of it, is of a newer format.
    public static let newerFormat = Code(rawValue: "newerFormat")
    /// The store is of a former format, which this version does not read.
    public static let olderFormat = Code(rawValue: "olderFormat")
    /// The store's data is damaged.
    public static let damaged = Code(rawValue: "damaged")
    /// The store's data file was removed or replaced while the store was open.
    public static let removed = Code(rawValue: "removed")
    /// The store is open elsewhere in this process.
    public static let alreadyOpen = Code(rawValue: "alreadyOpen")
    /// The store was closed.
    public static let closed = Code(rawValue: "closed")
    /// The store was opened read-only, or its file is not writable.
    public static let readOnly = Code(rawValue: "readOnly")
    /// The disk, or the store's address space, is full.
    public static let full = Code(rawValue: "full")
    /// The commit failed and nothing of it is in the store.
    public static let commitFailed = Code(rawValue: "commitFailed")
    /// The commit reported an error, yet its transactions are in the store.
    public static let commitUncertain = Code(rawValue: "commitUncertain")
    /// A remote transaction does not follow what the store has.
    public static let outOfOrder = Code(rawValue: "outOfOrder")
    /// The remote log is another incarnation than the store's.
    public static let incarnationChanged = Code(rawValue: "incarnationChanged")
    /// The remote is another one than the store was synced with.
    public static let remoteChanged = Code(rawValue: "remoteChanged")
    /// Other bytes under a replica, epoch and sequence that the store has.
    public static let fork = Code(rawValue: "fork")
    /// The remote log has rejected a segment of the lane, and takes no more of it.
    public static let laneClosed = Code(rawValue: "laneClosed")
    /// A zone's remote log is being read again, and what is asked for is not known before its end.
    public static let rereading = Code(rawValue: "rereading")
    /// A remote transaction belongs to another zone or replica than it was given for.
    public static let mismatch = Code(rawValue: "mismatch")
    /// An import file is damaged.
    public static let importInvalid = Code(rawValue: "importInvalid")
    /// The store has a part of a log: its import was cut short, or is not at its end yet.
    public static let importUnfinished = Code(rawValue: "importUnfinished")
    /// The operating system or LMDB failed.
    public static let system = Code(rawValue: "system")
  }

  public let code: Code
  /// What happened, with the offending value.
  public let message: String
  /// What to do.
  public let hint: String
  /// What it came from, if it came from below.
  public let underlying: (any Error)?

  public init(_ code: Code, _ message: String, hint: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
    self.underlying = underlying
  }

  public var description: String { "\(message) (\(code)). \(hint)" }

  /// Translates an error from a layer below; any other passes as it is.
  static func translate(_ error: any Error, hint: String? = nil) -> any Error {
    switch error {
    case let error as LMDBError: return StoreError(error)
    case let error as FileError: return error.storeError
    case let error as FormatError:
      let code: Code = error.code == .newerFormat ? .newerFormat : .damaged
      let own = code == .damaged ? damageHint : error.hint
      return StoreError(code, error.text, hint: hint ?? own, underlying: error)
    default: return error
    }
  }

  /// Runs a body, and translates what it throws.
  static func translating<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch {
      throw translate(error)
    }
  }

  /// What to do about damage. Work that was never sent is in no remote: it must not go with the store.
  static let damageHint =
    "keep a copy of the directory, and run `replay verify`; `replay export` brings out the log with what was "
    + "never sent, for a new store to import, or, if the log cannot be read, `replay export --records` the "
    + "records; what was sent comes from the remote too"

  private init(_ error: LMDBError) {
    let code: Code =
      switch error.code {
      case .alreadyOpen: .alreadyOpen
      case .closed: .closed
      case .mapFull, .noSpace, .quotaExceeded: .full
      case .corrupted, .damagedPage, .truncatedFile, .pageNotFound, .cursorFull, .pageFull: .damaged
      case .notAStore: .notAStore
      case .versionMismatch: .newerFormat
      case .accessDenied, .readOnlyFileSystem: .readOnly
      default: .system
      }
    let place = error.path.map { " “\($0)”" } ?? ""
    let (message, hint) =
      switch error.code {
      case .closed: ("the store\(place) is closed", "open it again")
      case .alreadyOpen:
        ("this process has the store\(place) open already, perhaps by another path", error.hint)
      default: (Self.text(of: error), code == .damaged ? Self.damageHint : error.hint)
      }
    self.init(code, message, hint: hint, underlying: error)
  }

  /// What happened. Where it is about the disk, with the file: that says which disk needs room.
  private static func text(of error: LMDBError) -> String {
    guard [.noSpace, .quotaExceeded, .fileTooLarge, .inputOutput].contains(error.code), let path = error.path
    else { return error.message }
    return "\(error.message): “\(path.hasSuffix("/data.mdb") ? path : "\(path)/data.mdb")”"
  }
}

extension FormatError {
  /// What it says, without its code.
  var text: String { "\(subject) at byte \(offset): expected \(expected), found \(found)" }
}
