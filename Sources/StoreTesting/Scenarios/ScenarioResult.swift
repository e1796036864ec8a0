public import OperationFormat

/// What came of a scenario.
public struct ScenarioResult: Sendable {
  /// What came of it.
  public enum Outcome: Hashable, Sendable {
    case passed
    /// The step or assertion, what was expected, what was found.
    case failed(ScenarioFailure)
    /// It takes a capability that the runner does not have.
    case skipped(String)
  }

  /// A device as it was at the end.
  public struct Device: Hashable, Sendable {
    public let name: String
    /// The digest of each of its zones, in their order.
    public let digests: [(zone: ZoneID, digest: ContentHash)]

    public static func == (a: Device, b: Device) -> Bool {
      a.name == b.name && a.digests.elementsEqual(b.digests) { $0.zone == $1.zone && $0.digest == $1.digest }
    }

    public func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      for (zone, digest) in digests {
        hasher.combine(zone)
        hasher.combine(digest)
      }
    }
  }

  public let id: String
  public let outcome: Outcome
  /// Empty for one that was skipped.
  public let devices: [Device]

  /// `passed ID`, `failed ID: step, expected, found`, `skipped ID: capability`.
  public var line: String {
    switch outcome {
    case .passed: "passed \(id)"
    case .failed(let failure): "failed \(id): \(failure)"
    case .skipped(let capability): "skipped \(id): \(capability)"
    }
  }
}

/// Where a scenario failed.
public struct ScenarioFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// `step 3 (save, line 12)`.
  public let place: String
  public let expected: String
  public let found: String

  public var description: String { "\(place), expected \(expected), found \(found)" }
}
