/// How stores fold.
extension CompactionModel {
  /// What a replica has to send, or has sent beyond a log, in order.
  func pending(of replica: Replica, beyond log: Int) -> [Entry] {
    let known = tree.transactions(of: log)
    return (replica.ahead.map(tree.entry) + replica.queue).filter { !known.contains($0.transaction) }
  }

  func isSettled(_ replica: Int, in world: CompactionWorld) -> Bool {
    pending(of: world.basic.replicas[replica], beyond: world.basic.replicas[replica].read).isEmpty
  }

  /// The world after a replica has synced: its store folds what it has read.
  func folding(_ after: World, by replica: Int, in world: CompactionWorld) -> CompactionWorld {
    var next = world
    next.basic = after
    let (old, new) = (world.basic.replicas[replica], after.replicas[replica])
    if tree.isPrefix(old.read, of: new.read) {
      let offset = tree.offset(of: old.read)
      for arrival in checker.arrivals(in: new.read) where arrival.offset! > offset {
        guard fold(arrival, of: old, read: new.read, into: &next.stores[replica]) else {
          next.stores[replica] = refolded(new.read, with: new, from: next.stores[replica].origin)
          break
        }
      }
    } else {
      next.stores[replica] = refolded(new.read, with: new, from: next.stores[replica].origin)
    }
    return next
  }

  /// Folds the next transaction of the log.
  ///
  /// - Returns: false if it was folded before by another base.
  private func fold(_ arrival: Arrival, of replica: Replica, read: Int, into store: inout Store) -> Bool {
    if let base = store.base(of: arrival.number) {
      if base != arrival.base { return false }
      store.state.setPlace(arrival.offset!, of: arrival.number)
    } else {
      rule.fold(arrival, into: &store.state)
      store.setBase(arrival.base, of: arrival.number)
    }
    guard let floor = rule.floor(of: arrival, in: store.state) else { return true }
    let log = tree.prefix(of: read, upTo: arrival.offset!)
    let changed = Set(pending(of: replica, beyond: log).compactMap { $0.kind.content?.record })
    let refolded = changed.isEmpty ? nil : refolded(log, with: replica, from: store.origin)
    rule.compact(&store.state, to: floor)
    if let refolded, rule.flaw != .compactsUnsettled {
      for record in changed { store.state.records[record] = refolded.state.records[record] }
    }
    return true
  }

  /// A store that folds the log alone, and then its replica's pending work on top.
  func refolded(_ log: Int, with replica: Replica, from origin: Snapshot) -> Store {
    let isBehind = !tree.isPrefix(origin.log, of: log)
    var store = Store(
      isBehind ? Snapshot(log: LogTree.root, state: ZoneState(records: bounds.records)) : origin)
    let offset = tree.offset(of: store.origin.log)
    for arrival in checker.arrivals(in: log) {
      store.setBase(arrival.base, of: arrival.number)
      guard arrival.offset! > offset else { continue }
      rule.fold(arrival, into: &store.state)
      if let floor = rule.floor(of: arrival, in: store.state) { rule.compact(&store.state, to: floor) }
    }
    if rule.flaw != .dropsPending {
      foldPending(pending(of: replica, beyond: log), into: &store)
    }
    return store
  }

  func foldPending(_ entries: [Entry], into store: inout Store) {
    for entry in entries {
      var arrival = Arrival(entry)
      store.setBase(arrival.base, of: arrival.number)
      if rule.flaw == .keepsSight { arrival.base = max(arrival.base, store.state.floor) }
      rule.fold(arrival, into: &store.state)
    }
  }

  // MARK: Snapshots

  /// What a settled replica makes for others.
  func snapshot(of replica: Int, in world: CompactionWorld) -> Snapshot {
    var state = world.stores[replica].state
    state.forgetPlaces()
    if rule.flaw == .forgetsFloor { state.floor = 0 }
    if rule.flaw == .forgetsPlaces { state.forgetAllPlaces() }
    return Snapshot(log: world.basic.replicas[replica].read, state: state)
  }

  func needsSnapshot(_ replica: Int, in world: CompactionWorld) -> Bool {
    guard let snapshot = world.snapshot else { return false }
    return tree.offset(of: world.basic.replicas[replica].read) < tree.offset(of: snapshot.log)
  }

  func startingAgain(_ replica: Int, in world: CompactionWorld) -> CompactionWorld {
    var next = world
    start(replica, from: world.snapshot!, in: &next)
    return next
  }

  func start(_ replica: Int, from snapshot: Snapshot, in world: inout CompactionWorld) {
    model.take(snapshot.log, by: replica, in: &world.basic)
    world.stores[replica] = refolded(
      snapshot.log, with: world.basic.replicas[replica], from: snapshot)
  }
}
