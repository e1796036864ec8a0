import EventStore
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import Replicator

/// Two devices delete and make a record, and create another one that goes with it, in every order with syncs
/// between. What each shows is compared with a model, which knows only what each write has seen.
@Suite("All small schedules of a deletion and of the creation of a child")
struct ChildrenAndDeletions {
  /// What a write does. Each is possible on every device at any time: see ``Schedule/write(_:on:)``.
  enum Write: CaseIterable {
    /// Deletes the post.
    case deletes
    /// Creates the post again, or sets its title.
    case makes
    /// Creates the photo, which goes with the post.
    case createsChild
  }

  /// The next action of a device: it writes, or it sends and fetches everything.
  struct Act: Hashable {
    var device: Int
    var isWrite: Bool
  }

  /// All orders of so many writes of each device and up to so many syncs, without a sync that follows another
  /// of the same device, and without syncs before the first write.
  static func orders(writes: [Int], syncs: Int) -> [[Act]] {
    var found: [[Act]] = []
    func extend(_ acts: [Act], _ writes: [Int], _ syncs: Int) {
      if writes.allSatisfy({ $0 == 0 }) { return found.append(acts) }
      for device in writes.indices where writes[device] > 0 {
        var left = writes
        left[device] -= 1
        extend(acts + [Act(device: device, isWrite: true)], left, syncs)
      }
      guard syncs > 0, !acts.isEmpty else { return }
      for device in writes.indices where acts.last != Act(device: device, isWrite: false) {
        extend(acts + [Act(device: device, isWrite: false)], writes, syncs - 1)
      }
    }
    extend([], writes, syncs)
    return found
  }

  /// One choice of writes, with its own post and photo.
  struct Schedule {
    /// A write of the model: whether a record exists after it, and which earlier writes it has seen.
    struct Step {
      var exists: Bool
      var seen: Set<Int>
    }

    let post: RecordID
    let photo: RecordID
    let writes: [Write]
    let policy: ExistencePolicy
    /// The writes of the post's and of the photo's existence, by their number; the first made the post.
    var posts: [Int: Step] = [0: Step(exists: true, seen: [])]
    var photos: [Int: Step] = [:]
    var known: [Set<Int>] = [[0], [0]]
    var shared: Set<Int> = [0]
    private var count = 1

    init(_ number: Int, _ writes: [Write], _ policy: ExistencePolicy) {
      post = RecordID(zone: zone, name: Name("post \(number)"))
      photo = RecordID(zone: zone, name: Name("photo \(number)"))
      (self.writes, self.policy) = (writes, policy)
    }

    /// Whether a record exists by the writes that a device knows. A later write has a later time.
    private func exists(_ steps: [Int: Step], _ known: Set<Int>, _ policy: ExistencePolicy) -> Bool {
      let heads = steps.keys.filter { step in
        known.contains(step) && !known.contains { steps[$0]?.seen.contains(step) ?? false }
      }
      return switch policy {
      case .latest: heads.max().map { steps[$0]!.exists } ?? false
      case .updateWins: heads.contains { steps[$0]!.exists }
      case .deleteWins: !heads.isEmpty && heads.allSatisfy { steps[$0]!.exists }
      }
    }

    func showsPost(_ device: Int) -> Bool { exists(posts, known[device], policy) }
    /// Whether the photo would be there if its post was.
    func hasPhoto(_ device: Int) -> Bool { exists(photos, known[device], .latest) }

    /// Whether the next write changes anything at this device, and how.
    mutating func write(_ number: Int, on device: Int) -> Write? {
      let write = writes[number]
      let seen = known[device]
      switch write {
      case .deletes:
        guard showsPost(device) else { return nil }
        posts[count] = Step(exists: false, seen: seen)
      case .makes: posts[count] = Step(exists: true, seen: seen)
      case .createsChild:
        guard !hasPhoto(device) else { return nil }
        photos[count] = Step(exists: true, seen: seen)
      }
      known[device].insert(count)
      count += 1
      return write
    }

    mutating func sync(_ device: Int) {
      shared.formUnion(known[device])
      known[device] = shared
    }
  }

  /// What a device shows of a schedule's records.
  private func check(_ schedules: [Schedule], _ index: Int, _ device: Device, _ acts: [Act]) throws {
    try device.store.read { tx in
      let hidden = try tx.hiddenRecords(in: zone)
      for schedule in schedules {
        let (post, photo) = try (tx.contains(schedule.post), tx.contains(schedule.photo))
        let isListed = hidden.contains { $0.record.id == schedule.photo && $0.missing == schedule.post }
        let (showsPost, hasPhoto) = (schedule.showsPost(index), schedule.hasPhoto(index))
        let isAsExpected =
          post == showsPost && photo == (showsPost && hasPhoto) && isListed == (hasPhoto && !showsPost)
        #expect(isAsExpected, "device \(index), \(schedule.writes), \(schedule.policy), \(acts)")
      }
    }
  }

  @Test(
    "the child is hidden and listed while its target is dead, and is there with its target",
    arguments: [ExistencePolicy.latest, .updateWins, .deleteWins])
  func everyOrder(_ policy: ExistencePolicy) async throws {
    let writes = WideTests.choose([2, 2], otherwise: [2, 1])
    let orders = Self.orders(writes: writes, syncs: WideTests.choose(3, otherwise: 1))
    for acts in orders { try await run(acts, policy) }
    #expect(orders.count > 10)
  }

  /// Runs every choice of writes at once, each with records of its own.
  private func run(_ acts: [Act], _ policy: ExistencePolicy) async throws {
    let scratch = TemporaryDirectory()
    let remote = MemoryRemote(identity: RemoteID(rawValue: 9))
    let time = Mutex<Int64>(1_000_000)
    let devices = try (0..<2).map { number in
      try Device(
        in: scratch.path, "d\(number)", seed: UInt64(number + 1), clock: { time.withLock { $0 } })
    }
    let count = acts.count(where: \.isWrite)
    let choices = (0..<count).reduce(1) { choices, _ in choices * Write.allCases.count }
    var schedules = (0..<choices).map { choice in
      var left = choice
      let writes = (0..<count).map { _ in
        defer { left /= Write.allCases.count }
        return Write.allCases[left % Write.allCases.count]
      }
      return Schedule(choice, writes, policy)
    }
    for device in devices { try await device.store.setExistencePolicy(policy, of: "post") }
    let posts = schedules.map(\.post)
    try await devices[0].store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      for post in posts { try tx.create(post, type: "post") }
    }
    try await settle(devices, remote)
    var number = 0
    let last = [0, 1, 0, 1].map { Act(device: $0, isWrite: false) }
    for act in acts + last {
      let device = devices[act.device]
      if act.isWrite {
        time.withLock { $0 += 1000 }
        var todo: [(Write, RecordID, RecordID)] = []
        for index in schedules.indices {
          guard let write = schedules[index].write(number, on: act.device) else { continue }
          todo.append((write, schedules[index].post, schedules[index].photo))
        }
        number += 1
        try await device.store.write { [todo] tx in
          for (write, post, photo) in todo {
            switch write {
            case .deletes: try tx.delete(post)
            case .makes:
              if try tx.contains(post) {
                try tx.set("title", of: post, to: "kept")
              } else {
                try tx.create(post, type: "post")
              }
            case .createsChild:
              let reference = Value.reference(Reference(record: post.name, rule: .cascade))
              try tx.create(photo, type: "photo", fields: ["post": reference])
            }
          }
        }
      } else {
        try await device.sync(remote)
        for index in schedules.indices { schedules[index].sync(act.device) }
      }
      try check(schedules, act.device, device, acts)
    }
    #expect(schedules.allSatisfy { $0.known[0] == $0.known[1] })
    try await expectAgreement(devices, remote)
    for device in devices { device.store.close() }
  }
}
