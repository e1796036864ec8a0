/// The steps of syncing.
extension Model {
  /// The replica reads the log to its end, or the next entry. If the log has something else where the replica
  /// has read, the replica parts from it. If the log ends before that, the replica first puts entries back.
  func reading(by replica: Int, in world: World) -> World {
    var next = world
    let read = world.replicas[replica].read
    let shared = tree.shared(read, world.log)
    if shared == read {
      let page =
        bounds.grain == .entries ? tree.prefix(of: world.log, upTo: tree.offset(of: read) + 1) : world.log
      take(page, by: replica, in: &next)
    } else {
      next.replicas[replica].isAtEnd = false
      if shared != world.log && !refills(read, world.log) {
        part(replica, at: tree.offset(of: shared), in: &next)
      }
    }
    return next
  }

  /// The replica has what the log has up to a page's end.
  func take(_ page: Int, by replica: Int, in world: inout World) {
    world.replicas[replica].read = page
    world.replicas[replica].isAtEnd = page == world.log
    world.replicas[replica].had.formUnion(tree.transactions(of: page))
    requeueLostAhead(of: replica, in: &world)
    settle(replica, in: &world)
  }

  /// The replica puts back the first entry that the log has lost at its end; nil if it has none.
  func puttingBack(by replica: Int, in world: World) -> World? {
    let read = world.replicas[replica].read
    let isVerified = world.log != read && tree.isPrefix(world.log, of: read)
    guard isVerified || refills(read, world.log) else { return nil }
    var next = world
    let lost = tree.prefix(of: read, upTo: tree.offset(of: world.log) + 1)
    next.setLog(tree.appending(tree.entry(of: lost), to: world.log), in: tree)
    return next
  }

  /// Whether a wrong rule puts entries back that do not fit.
  private func refills(_ read: Int, _ log: Int) -> Bool {
    rules.flaw == .refillsUnverified && tree.offset(of: log) < tree.offset(of: read)
  }

  /// The replica appends the first entry of its queue, unless the log has it; nil if it cannot.
  ///
  /// It cannot if the log is not the one that it has read, or lacks what it has sent: that a log goes back
  /// between a read and an append is not in this model. Readers reject such an entry.
  func appending(by replica: Int, in world: World, isAnswered: Bool) -> World? {
    let sender = world.replicas[replica]
    let known = [sender.read] + sender.ahead
    guard sender.isAtEnd, let entry = sender.queue.first,
      known.allSatisfy({ tree.isPrefix($0, of: world.log) })
    else { return nil }
    var next = world
    let after = tree.offset(of: sender.read)
    let same = tree.path(to: world.log, after: after).first { tree.entry(of: $0) == entry }
    let node = same ?? tree.appending(entry, to: world.log)
    if same == nil { next.setLog(node, in: tree) }
    guard isAnswered else { return next }
    next.replicas[replica].queue.removeFirst()
    if tree.offset(of: node) == after + 1 {
      next.replicas[replica].read = node
    } else {
      next.replicas[replica].ahead.append(node)
    }
    return next
  }

  /// What was sent ahead of the token and is not in the log that was read is to be sent again.
  private func requeueLostAhead(of replica: Int, in world: inout World) {
    let reader = world.replicas[replica]
    let open = reader.ahead.filter { !tree.isPrefix($0, of: reader.read) }
    let lost = open.filter { reader.isAtEnd || tree.offset(of: $0) <= tree.offset(of: reader.read) }
    world.replicas[replica].ahead = open.filter { !lost.contains($0) }
    world.replicas[replica].queue.insert(contentsOf: lost.map(tree.entry), at: 0)
  }

  /// Forgets what the log that was read has: entries to be sent, and lost logs.
  private func settle(_ replica: Int, in world: inout World) {
    let found = tree.transactions(of: world.replicas[replica].read)
    world.replicas[replica].queue.removeAll { found.contains($0.transaction) }
    world.replicas[replica].lostLogs.removeAll { tree.transactions(of: $0.log).isSubset(of: found) }
  }

  /// The replica takes its token back to what it shares with the log. All that it has besides is to be sent,
  /// also what others wrote, in the order that it had. What had seen more of the log than that gets a limit.
  private func part(_ replica: Int, at shared: Int, in world: inout World) {
    var parting = world.replicas[replica]
    let end = parting.read
    var lost = tree.path(to: end, after: shared).map(tree.entry)
    if rules.flaw == .offersBackwards { lost.reverse() }
    if rules.flaw == .dropsOthers { lost.removeAll { world.transactions[$0.transaction].writer != replica } }
    if rules.flaw == .issuesAgain { lost = lost.map { issuedAgain($0, by: replica, in: &world) } }
    parting.queue = (lost + parting.ahead.map(tree.entry) + parting.queue).map { entry in
      let seen = rules.flaw == .raisesLimits ? entry.base : min(entry.base, entry.limit ?? entry.base)
      return seen > shared ? Entry(entry.transaction, of: world.transactions, limit: shared) : entry
    }
    if rules.flaw == .keepsOwnLimits { parting.ownLimits += parting.queue.filter { $0.limit != nil } }
    parting.ahead = []
    parting.lostLogs.append(Source(log: end, kept: shared))
    parting.read = tree.prefix(of: end, upTo: shared)
    world.replicas[replica] = parting
  }

  /// A wrong rule: a copy of another's transaction, with this replica as its writer.
  private func issuedAgain(_ entry: Entry, by replica: Int, in world: inout World) -> Entry {
    let original = world.transactions[entry.transaction]
    guard original.writer != replica else { return entry }
    world.transactions.append(
      Transaction(
        writer: replica, kind: original.kind, base: original.base, shown: original.shown,
        sources: original.sources, origin: original.origin))
    return Entry(world.transactions.count - 1, of: world.transactions, limit: entry.limit)
  }
}
