/// What happens next in a world of the model of compaction.
enum CompactionStep: Hashable {
  case basic(Step)
  /// A replica that is settled makes a snapshot, and another one starts from it.
  case join(from: Int)
  /// A replica that is settled makes a snapshot, which stands for the log up to there from now on.
  case trim(by: Int)
  /// A replica that needs what the log has no more starts again from the snapshot, with its pending work.
  case startAgain(Int)

  var text: String {
    switch self {
    case .basic(let step): step.text
    case .join(let replica): "a replica starts from a snapshot of \(Step.name(replica))"
    case .trim(let replica): "\(Step.name(replica)) makes a snapshot, and the log before it goes"
    case .startAgain(let replica): "\(Step.name(replica)) starts again from the snapshot"
    }
  }
}
