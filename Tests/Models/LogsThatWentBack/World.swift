/// One log at a remote, the replicas, and what may still happen. Two equal worlds have the same future.
struct World: Hashable {
  var transactions: [Transaction] = []
  private(set) var log = LogTree.root
  var replicas: [Replica]
  var writesLeft: Int
  var goingsBackLeft: Int
  var lostAnswersLeft: Int
  var departuresLeft: Int
  var liesLeft: Int

  init(_ bounds: Bounds) {
    replicas = Array(repeating: Replica(), count: bounds.replicas)
    writesLeft = bounds.kinds.count
    goingsBackLeft = bounds.goingsBack
    lostAnswersLeft = bounds.lostAnswers
    departuresLeft = bounds.departures
    liesLeft = bounds.lies
  }

  /// The transactions that are not gone are in the log, or in the replicas.
  func hash(into hasher: inout Hasher) {
    hasher.combine(log)
    hasher.combine(writesLeft)
    for replica in replicas {
      hasher.combine(replica.read)
      hasher.combine(replica.queue)
      hasher.combine(replica.ahead)
      hasher.combine(replica.isAtEnd)
    }
  }

  /// Sets the log, and notes what that keeps of former logs.
  mutating func setLog(_ log: Int, in tree: LogTree) {
    self.log = log
    for number in transactions.indices {
      for index in transactions[number].sources.indices {
        transactions[number].sources[index].note(log, in: tree)
      }
    }
    for replica in replicas.indices {
      for index in replicas[replica].lostLogs.indices {
        replicas[replica].lostLogs[index].note(log, in: tree)
      }
    }
  }

  /// What a replica shows: the transactions that it has.
  func shown(by replica: Int, in tree: LogTree) -> NumberSet {
    let replica = replicas[replica]
    var set = tree.transactions(of: replica.read)
    for entry in replica.queue { set.insert(entry.transaction) }
    for node in replica.ahead { set.insert(tree.entry(of: node).transaction) }
    return set
  }
}
