public import OperationFormat

/// Why an asset could not be transferred. It holds up neither the log nor other assets.
public struct AssetProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public enum Kind: Hashable, Sendable {
    /// It is neither here nor at the remote: the segment that names it was shipped without it. Once its file
    /// is here, the next round uploads it.
    case missingHere
    /// Its file here is damaged, and the remote has none: the segment that names it was shipped without it.
    /// Once its file is replaced, the next round uploads it.
    case damagedHere
    /// The remote does not have it, or not all of it yet. In an eager zone a replicator asks again, with
    /// growing intervals; at once if a new segment names it, or the app asks.
    case missingAtRemote
    /// What the remote has of it does not fit its hash. A store that has it repairs it with
    /// ``LogReplicator/uploadAsset(_:in:)``.
    case damagedAtRemote
    /// It could not be written or read here. Or something else is in its place at the remote and cannot be
    /// replaced, and the segment that names it was shipped without it. Each round tries again.
    case failed(SyncFailure)
  }

  public let reference: AssetReference
  public let kind: Kind

  public init(_ reference: AssetReference, _ kind: Kind) {
    self.reference = reference
    self.kind = kind
  }

  public var description: String {
    let what =
      switch kind {
      case .missingHere: "is neither here nor at the remote"
      case .damagedHere: "is damaged here, and not at the remote"
      case .missingAtRemote: "is not at the remote"
      case .damagedAtRemote: "is damaged at the remote"
      case .failed(let failure): "could not be transferred: \(failure)"
      }
    return "asset \(reference.hash) \(what)"
  }
}

/// How far an asset's transfer is.
public struct AssetProgress: Hashable, Sendable {
  public enum Direction: Hashable, Sendable { case upload, download }

  public let zone: ZoneID
  public let reference: AssetReference
  public let direction: Direction
  /// Bytes that are at their destination, including those of earlier tries.
  public let bytesDone: UInt64

  /// The asset's size.
  public var bytesTotal: UInt64 { reference.byteCount }
}
