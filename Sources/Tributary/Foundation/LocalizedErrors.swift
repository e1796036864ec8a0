public import Foundation
public import Models
public import Replicator

/// What to show to a user: a sentence, and what to do.
extension StoreError: LocalizedError {
  public var errorDescription: String? { message.asSentence }
  public var recoverySuggestion: String? { hint.asSentence }
}

/// What to show to a user: a sentence, and what to do.
extension RemoteError: LocalizedError {
  public var errorDescription: String? { message.asSentence }
  public var recoverySuggestion: String? { hint.asSentence }
}

/// What to show to a user: a sentence, and what to do.
extension SyncFailure: LocalizedError {
  public var errorDescription: String? { message.asSentence }
  public var recoverySuggestion: String? { hint.asSentence }
}

/// What to show to a user: a sentence.
extension AssetProblem: LocalizedError {
  public var errorDescription: String? { description.asSentence }
}

/// What to show to a user: a sentence, and what to do.
extension FormatError: LocalizedError {
  public var errorDescription: String? { description.asSentence }
  public var recoverySuggestion: String? { hint.asSentence }
}

extension String {
  /// With a capital letter at its start, and a full stop.
  fileprivate var asSentence: String {
    guard let first, let last else { return self }
    return first.uppercased() + dropFirst() + (".!?".contains(last) ? "" : ".")
  }
}
