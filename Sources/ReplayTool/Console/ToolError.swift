import EventStore
import Replicator
import StoreTesting

/// An error of a command: what failed, and what the user can do about it.
struct ToolError: Error {
  /// The exit code of the process.
  enum Exit: Int32 {
    /// The command ran, and found a problem.
    case problem = 1
    /// The user's input cannot be used.
    case input = 2
    /// The store cannot be opened.
    case store = 3
    /// The remote cannot be reached or used.
    case remote = 4
    /// The user interrupted the command: 128 and the signal's number, as in shells.
    case interrupted = 130
  }

  /// A stable word that programs can compare.
  let code: String
  let message: String
  var hint: String
  let exit: Exit

  init(_ code: String, _ message: String, hint: String, exit: Exit = .problem) {
    self.code = code
    self.message = message
    self.hint = hint
    self.exit = exit
  }

  /// Translates any error of a command.
  init(_ error: any Error) {
    switch error {
    case let error as ToolError: self = error
    case let error as StoreError:
      self.init(
        error.code.rawValue, error.message, hint: Self.hint(error), exit: Self.exit(of: error.code))
    case let error as FormatError:
      self.init(error.code.rawValue, error.description, hint: error.hint, exit: .problem)
    case let error as RemoteError:
      self.init(
        error.code.rawValue, error.message, hint: error.hint,
        exit: error.code == .schemeUnknown ? .input : .remote)
    case let error as SyncFailure:
      self.init(error.code, error.message, hint: error.hint, exit: error.isOfStore ? .store : .remote)
    case let error as HistoryError:
      self.init(
        error.code.rawValue, error.message, hint: error.hint,
        exit: error.code == .directoryUnusable ? .input : .problem)
    case is Interrupted:
      self = .interrupted(hint: "nothing was changed; run it again")
    default:
      self.init("failed", "\(error)", hint: "run the command with --help to see how it is used")
    }
  }

  /// A name that is not in the store is the user's error; something that cannot be read or written is the
  /// store's.
  private static func exit(of code: StoreError.Code) -> Exit {
    switch code {
    case .zoneUnknown, .recordUnknown, .positionUnknown, .nameInvalid, .valueInvalid, .indexInvalid,
      .definitionInvalid:
      .input
    case _ where isOfStore(code): .store
    default: .problem
    }
  }

  /// Whether a code means that the store cannot be opened, read or written.
  static func isOfStore(_ code: StoreError.Code) -> Bool {
    let codes: [StoreError.Code] = [
      .damaged, .notAStore, .newerFormat, .olderFormat, .accessDenied, .readOnly, .removed, .full, .system,
      .commitFailed, .commitUncertain, .importUnfinished,
    ]
    return codes.contains(code)
  }

  /// The hint for a user of commands, where the library's hint names its calls.
  private static func hint(_ error: StoreError) -> String {
    switch error.code {
    case .assetMissing, .assetDamaged:
      "`replay asset download STORE HASH --remote REMOTE` downloads it from a remote that has it"
    default: error.hint
    }
  }

  /// An error of opening a store.
  static func opening(_ error: any Error) -> ToolError {
    let error = ToolError(error)
    return ToolError(error.code, error.message, hint: error.hint, exit: .store)
  }

  static func interrupted(hint: String) -> ToolError {
    ToolError("interrupted", "interrupted", hint: hint, exit: .interrupted)
  }

  static func input(_ code: String, _ message: String, hint: String) -> ToolError {
    ToolError(code, message, hint: hint, exit: .input)
  }

  /// The same error for a place in an imported file. An error of the store stays the store's.
  func ofInput(_ place: String) -> ToolError {
    ToolError(code, "\(place): \(message)", hint: hint, exit: exit == .problem ? .input : exit)
  }

  var json: JSON {
    .object(["error": .object(["code": .string(code), "hint": .string(hint), "message": .string(message)])])
  }
}

extension SyncFailure {
  /// Whether the store could not be read or written. A code that a remote can also have counts as the
  /// remote's.
  var isOfStore: Bool {
    let shared: [RemoteError.Code] = [.damaged, .newerFormat, .system]
    return ToolError.isOfStore(StoreError.Code(rawValue: code)) && !shared.contains { $0.rawValue == code }
  }
}
