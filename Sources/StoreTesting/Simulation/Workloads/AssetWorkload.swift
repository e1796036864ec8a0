public import EventStore
public import OperationFormat

/// Values that become assets, and some that are just too short to become one. There are few contents, so that
/// many records, zones and devices name the same asset. Sometimes one zone names an asset of another, even if
/// its file is not on the device.
///
/// It is for worlds with ``SimulationOptions/assetThresholdBytes``.
public struct AssetWorkload: SimulationWorkload {
  public let name = "assets"
  public let zones: [ZoneID] = [ZoneID(name: "album"), ZoneID(name: "films")]
  public let allowsRestoring = true

  private static let records: [Name] = ["a", "b", "c"]
  private static let fields: [Name] = ["photo", "sound"]
  private static let seeds = 6
  /// The size of the smallest asset, in bytes.
  private let assetBytesMin: Int
  /// What each asset's bytes have for a hash.
  private let known: Set<AssetReference>

  /// Creates the workload.
  ///
  /// - Parameter thresholdBytes: the world's ``SimulationOptions/assetThresholdBytes``.
  public init(thresholdBytes: Int) {
    assetBytesMin = thresholdBytes + 1
    var known: Set<AssetReference> = []
    for seed in 0..<Self.seeds {
      for size in Self.sizes(from: thresholdBytes + 1) {
        known.insert(Self.reference(to: Self.bytes(seed, size)))
      }
    }
    self.known = known
  }

  public func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    for _ in 0..<choices.next(in: 1...3) {
      let record = RecordID(zone: choices.pick(zones), name: choices.pick(Self.records))
      let isThere = try transaction.contains(record)
      if isThere, choices.next(below: 10) == 9 {
        try transaction.delete(record)
        continue
      }
      if !isThere { try transaction.create(record, type: "photo") }
      let field = choices.pick(Self.fields)
      let value = try draw(&transaction, &choices)
      try transaction.set(field, of: record, to: value)
      guard try transaction.reads(stored(value) ?? .null, of: field, in: record) else {
        throw SimulationFailure(.transactionsAreAtomic, "a write does not read what it wrote to \(record)")
      }
    }
  }

  public func check(_ transaction: borrowing ReadTransaction) throws {
    for zone in zones {
      for record in try transaction.records(in: zone) where record.type == "photo" {
        for (field, value) in record.fields {
          guard case .asset(let asset) = value, !known.contains(asset) else { continue }
          throw SimulationFailure(
            .workloadHolds, "\(field) of \(record.id) names an asset that nobody wrote: \(asset.hash)")
        }
      }
    }
  }

  private func draw(
    _ transaction: inout WriteTransaction, _ choices: inout SimulationChoices
  ) throws -> Value {
    switch choices.next(below: 8) {
    case 6:
      // Too short for an asset by a byte, or empty.
      return .bytes(Self.bytes(choices.next(below: Self.seeds), choices.pick([assetBytesMin - 1, 0])))
    case 7:
      // What a record names is named by another one too.
      let record = RecordID(zone: choices.pick(zones), name: choices.pick(Self.records))
      let field = choices.pick(Self.fields)
      if try transaction.contains(record), let value = try transaction.value(of: field, in: record) {
        return value
      }
      return .null
    default:
      let size = choices.pick(Self.sizes(from: assetBytesMin))
      return .bytes(Self.bytes(choices.next(below: Self.seeds), size))
    }
  }

  /// The value of a field as the store keeps it; nil for none.
  private func stored(_ value: Value) -> Value? {
    switch value {
    case .null: nil
    case .bytes(let bytes) where bytes.count >= assetBytesMin: .asset(Self.reference(to: bytes))
    default: value
    }
  }

  private static func sizes(from least: Int) -> [Int] { [least, least + 7, 4096] }

  private static func reference(to bytes: [UInt8]) -> AssetReference {
    AssetReference(hash: ContentHash(of: bytes.span.bytes), byteCount: UInt64(bytes.count))
  }

  private static func bytes(_ seed: Int, _ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: UInt64(seed))
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }
}
