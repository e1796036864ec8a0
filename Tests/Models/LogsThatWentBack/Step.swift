/// What happens next in a world.
enum Step: Hashable {
  case write(Int, Transaction.Kind)
  /// All steps of syncing of one replica, until none changes anything.
  case sync(Int)
  /// Reads the log to its end, or one entry of it, or takes the token back to what the log still has.
  case read(Int)
  /// Puts the first entry back that the log has lost at its end.
  case putBack(Int)
  /// Appends the first entry that is to be sent.
  case append(Int)
  case appendWithoutAnswer(Int)
  /// The remote's log is an old copy of itself, up to an offset.
  case goBack(Int)
  /// A stranger appends a transaction with a limit that is not true.
  case lie(Int, Int)
  /// A replica syncs no more.
  case leave(Int)

  /// The step as a line of a schedule.
  var text: String {
    let name = Self.name
    return switch self {
    case .write(let replica, let kind): "\(name(replica)) writes: \(kind.content?.description ?? "\(kind)")"
    case .sync(let replica): "\(name(replica)) syncs"
    case .read(let replica): "\(name(replica)) reads"
    case .putBack(let replica): "\(name(replica)) puts an entry back"
    case .append(let replica): "\(name(replica)) appends an entry"
    case .appendWithoutAnswer(let replica): "\(name(replica)) appends an entry, the answer is lost"
    case .goBack(let offset): "the log goes back to \(offset)"
    case .lie(let number, let limit): "a stranger appends \(number + 1) with the limit \(limit)"
    case .leave(let replica): "\(name(replica)) is gone"
    }
  }

  static func name(_ replica: Int) -> String { ["A", "B", "C", "D"][replica] }

  /// The replica that syncs or writes; 0 if it is none's.
  var replica: Int {
    switch self {
    case .write(let replica, _), .sync(let replica), .read(let replica), .putBack(let replica),
      .append(let replica), .appendWithoutAnswer(let replica), .leave(let replica):
      replica
    case .goBack, .lie: 0
    }
  }
}
