import EventStore
import OperationFormat
import Replicator

extension ScenarioWorld {
  /// The most passes until devices must be at rest. If they need more, they never will be.
  private static let passesMax = 64
  private static let pageBytesMax = 8 << 20

  func push(_ device: ScenarioDevice) async throws {
    device.lastPush = device.isOnline ? try await device.sync(.ship).sent : 0
  }

  func pull(_ device: ScenarioDevice) async throws {
    device.lastPull = device.isOnline ? try await device.sync(.fetch).received : 0
  }

  /// Pulls, pushes and pulls.
  ///
  /// - Returns: whether anything moved.
  func sync(_ device: ScenarioDevice) async throws -> Bool {
    guard device.isOnline else {
      (device.lastPush, device.lastPull) = (0, 0)
      return false
    }
    let first = try await device.sync(.fetch)
    let push = try await device.sync(.ship)
    let second = try await device.sync(.fetch)
    (device.lastPush, device.lastPull) = (push.sent, first.received + second.received)
    return [first, push, second].contains(where: \.hasMoved)
  }

  /// Syncs devices in turn until nothing moves: neither transactions nor tokens.
  func quiesce(_ devices: [ScenarioDevice]) async throws {
    for _ in 0..<Self.passesMax {
      let before = try devices.map { try $0.store.syncState() }
      var hasMoved = false
      for device in devices where try await sync(device) { hasMoved = true }
      let after = try devices.map { try $0.store.syncState() }
      if !hasMoved, before == after { return }
    }
    throw ScenarioMismatch(expected: "rest after \(Self.passesMax) passes", found: "devices that still sync")
  }

  // MARK: Redelivery

  /// Folds segments again that a device has folded, or shipped, before.
  func redeliver(_ count: Int?, _ order: ScenarioOrder, to device: ScenarioDevice) async throws {
    var segments: [RemoteSegment] = []
    for zone in try device.store.syncState().zones {
      guard let token = zone.token else { continue }
      let known = try await self.segments(through: token)
      segments += known.suffix(count ?? known.count)
    }
    switch order {
    case .same: break
    case .reversed: segments.reverse()
    case .shuffled: segments.shuffle(using: &random)
    }
    let before = try DeviceState(device.store)
    for segment in segments {
      let report = try await device.store.ingest([segment])
      guard report.folded == 0 else {
        throw ScenarioMismatch(
          expected: "nothing new on \(device.name) in offset \(segment.offset) of \(segment.zone)",
          found: "\(report.folded) transactions")
      }
    }
    guard try DeviceState(device.store) == before else {
      throw ScenarioMismatch(
        expected: "\(device.name) as it was before the redelivery", found: "another state")
    }
  }

  /// What the remote holds of a zone's log up to a token.
  private func segments(through end: ChangeToken) async throws -> [RemoteSegment] {
    var token = ChangeToken.start(of: end.zone, end.incarnation)
    var found: [RemoteSegment] = []
    while token.offset < end.offset {
      guard
        case .segments(let page, _) = try await remote.segments(after: token, bytesMax: Self.pageBytesMax),
        !page.isEmpty
      else { break }
      for stored in page where stored.offset <= end.offset {
        let unpacked = try SegmentPacker.unpack(stored.bytes)
        found.append(RemoteSegment(unpacked, stored, of: token.zone))
        token.hash = unpacked.header.contentHash
        token.offset = stored.offset
        token.chain = stored.chain
      }
      if let last = page.last, last.offset > end.offset { break }
    }
    return found
  }
}
