/// What a verification found.
public struct VerificationReport: Hashable, Sendable {
  /// One thing that is wrong.
  public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// Where it is.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// A page of the data file is not as LMDB writes it.
      case page
      /// A key has another form than its table's, or an identity and its number do not name each other.
      case table
      /// The log is not contiguous, or an entry cannot be read.
      case log
      /// A transaction is not where its sequence says, or a sequence is missing.
      case sequence
      /// A place in a remote log is not what a segment says.
      case placement
      /// A file of the snapshot that a zone's records begin with is gone or has other bytes.
      case snapshot
      /// A record or an element differs from a fold of the log.
      case record
      /// An index differs from its records.
      case index
      /// What counts or lists the assets differs from the log.
      case assetList
      /// An asset's file is gone or has other bytes.
      case asset
    }

    public let kind: Kind
    /// Which page, position, sequence or record, as text.
    public let location: String
    public let message: String

    public var description: String { "\(kind) \(location): \(message)" }
  }

  /// More problems than these are counted, not kept.
  public static let problemsMax = 1000

  /// Transactions in the log that were checked.
  public internal(set) var transactions: UInt64 = 0
  /// Rows of records and elements that were compared with a fresh fold.
  public internal(set) var rows: UInt64 = 0
  /// Whether all records were compared with the log. Those of a zone whose remote log is being read again are
  /// not, since what its transactions had seen is not known then; and none while the log is being folded
  /// again: they are behind it; nor where a snapshot that records begin with is damaged.
  public internal(set) var comparesRecords = true
  /// Files of assets that were compared with their hashes.
  public internal(set) var assets = 0
  /// Assets that were named when they were not here, and have not come since: no problem of the store's.
  public internal(set) var missingAssets = 0
  /// Files of assets that nothing names: ``LocalStore/reclaim(progress:)`` removes them.
  public internal(set) var unnamedAssets = 0
  /// The first problems, in the order they were found.
  public internal(set) var problems: [Problem] = []
  /// How many problems there are.
  public internal(set) var problemCount = 0

  /// Whether nothing is wrong.
  public var isSound: Bool { problemCount == 0 }

  mutating func add(_ kind: Problem.Kind, _ location: String, _ message: String) {
    problemCount += 1
    if problems.count < Self.problemsMax {
      problems.append(Problem(kind: kind, location: location, message: message))
    }
  }
}

/// How far a verification is.
public struct VerificationProgress: Hashable, Sendable {
  /// What it does, in this order.
  public enum Step: String, Hashable, Sendable {
    /// Checks the pages of the data file, and counts them.
    case pages
    /// Checks the transactions in the log, and counts them.
    case log
    /// Folds the log again, and counts its transactions.
    case fold
    /// Compares records with the fresh fold, and counts rows.
    case compare
    /// Compares the files of assets with their hashes, and counts bytes.
    case assets
  }

  public let step: Step
  /// How much of the step is done, in what it counts.
  public let done: UInt64
  /// How much the step is in all.
  public let total: UInt64
}
