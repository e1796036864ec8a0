import OperationFormat
import Synchronization

/// Cached numbers of one kind of identity: those that a ``NumberTable`` has read or written.
///
/// Except for the numbers of zones, what was committed never changes, so all readers of a store share a
/// cache. The writer has its own one, which is undone with its transactions.
final class Interner<Identity: Internable>: Sendable {
  struct Cache: Sendable {
    fileprivate var numbers: [Identity: Number<Identity>] = [:]
    fileprivate var identities: [Number<Identity>: Identity] = [:]
  }

  private let mutex = Mutex(Cache())
  private let changes = Atomic<Int>(0)

  init() {}

  var cache: Cache {
    get { mutex.withLock { $0 } }
    set { change { $0 = newValue } }
  }

  /// How often the cache has changed.
  var changeCount: Int { changes.load(ordering: .relaxed) }

  private func change(_ body: (inout Cache) -> Void) {
    mutex.withLock { body(&$0) }
    changes.wrappingAdd(1, ordering: .relaxed)
  }

  /// The number that an identity had last; nil if it is not cached.
  func number(of identity: Identity) -> Number<Identity>? {
    mutex.withLock { $0.numbers[identity] }
  }

  /// The identity of a number; nil if it is not cached.
  func identity(of number: Number<Identity>) -> Identity? {
    mutex.withLock { $0.identities[number] }
  }

  func remember(_ identity: Identity, _ number: Number<Identity>) {
    change {
      $0.numbers[identity] = number
      $0.identities[number] = identity
    }
  }

  /// Forgets an identity's number. The number keeps the identity.
  func forgetNumber(of identity: Identity) {
    change { $0.numbers[identity] = nil }
  }
}

/// The numbers of all identities of a store.
struct Interned: Sendable {
  let zones = Interner<ZoneID>()
  let replicas = Interner<ReplicaID>()
  let incarnations = Interner<IncarnationID>()
  let names = Interner<Name>()

  init() {}

  /// What all of them have cached.
  struct Caches: Sendable {
    fileprivate var zones: Interner<ZoneID>.Cache
    fileprivate var replicas: Interner<ReplicaID>.Cache
    fileprivate var incarnations: Interner<IncarnationID>.Cache
    fileprivate var names: Interner<Name>.Cache
    /// The ``Interned/changeCount`` that they are of.
    fileprivate(set) var changeCount: Int
  }

  /// How often the caches have changed: tells whether a copy of them is current.
  var changeCount: Int {
    zones.changeCount + replicas.changeCount + incarnations.changeCount + names.changeCount
  }

  var caches: Caches {
    get {
      // Read first, so that a change in between makes the copy look older than it is.
      let changeCount = changeCount
      return Caches(
        zones: zones.cache, replicas: replicas.cache, incarnations: incarnations.cache, names: names.cache,
        changeCount: changeCount)
    }
    nonmutating set {
      zones.cache = newValue.zones
      replicas.cache = newValue.replicas
      incarnations.cache = newValue.incarnations
      names.cache = newValue.names
    }
  }
}
