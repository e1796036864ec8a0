import EventStore
import OperationFormat
import Replicator

/// Which faults of a world explain an error of a round.
enum ErrorExplanations {
  /// A code of one of the errors that a round may end with.
  enum Code: Hashable {
    case remote(RemoteError.Code)
    case store(StoreError.Code)
    case format(FormatError.Code)

    var rawValue: String {
      switch self {
      case .remote(let code): code.rawValue
      case .store(let code): code.rawValue
      case .format(let code): code.rawValue
      }
    }
  }

  /// Codes, and the faults that explain errors of these codes. One of the faults is enough.
  private static let table: [(codes: [Code], faults: [SimulationFault])] = [
    (
      [.remote(.unreachable)],
      [
        .requestLost, .answerLost, .requestDelayed, .requestDelayedForDays, .unavailable, .partition,
        .offlineForMonths, .sleep,
      ] + otherRemotes
    ),
    ([.remote(.later)], [.throttled]),
    ([.remote(.denied)], [.denied] + otherRemotes),
    (SimulationFault.refusals.map { .remote($0) }, [.denied]),
    ([.store(.full)], [.diskFull]),
    ([.store(.commitFailed)], [.commitFailed, .diskFull]),
    ([.store(.commitUncertain)], [.commitUncertain]),
    // A call for an asset's file fails.
    ([.store(.system)], [.commitFailed, .crashInCommit]),
    ([.remote(.damagedAsset)], damage + otherRemotes),
    (
      [
        .remote(.damaged), .remote(.damagedSegment), .remote(.newerFormat), .remote(.mismatch),
        .store(.damaged), .store(.newerFormat), .store(.mismatch),
        .format(.damaged), .format(.invalid), .format(.truncated), .format(.newerFormat),
      ],
      damage + [.newerSegment] + otherRemotes
    ),
    ([.remote(.newerSegment)], [.newerSegment, .bodyFlipped]),
    ([.remote(.notARemote)], damage + [.remoteUnmounted]),
    ([.remote(.identityMismatch)], [.remoteForeign]),
    // One of two replicators read another remote's list while its store still knew none.
    ([.store(.remoteChanged)], [.remoteForeign]),
    ([.remote(.wentBack)], otherRemotes),
    ([.store(.outOfOrder)], [.tokensForgotten]),
    ([.store(.incarnationChanged)], [.zoneDeleted]),
    ([.store(.zoneUnknown), .remote(.zoneUnknown)], [.zoneDeleted] + otherRemotes),
  ]

  /// Bytes of an answer are damaged.
  private static let damage: [SimulationFault] = [.bodyCut, .bodyFlipped]
  /// Something else is in the remote's place.
  private static let otherRemotes: [SimulationFault] = [.remoteUnmounted, .remoteForeign, .remoteOld]

  /// The table by the text of a code: a ``SyncFailure`` has only that.
  private static let faultsByCode: [String: Set<SimulationFault>] = {
    var faults: [String: Set<SimulationFault>] = [:]
    for row in table {
      for code in row.codes { faults[code.rawValue, default: []].formUnion(row.faults) }
    }
    return faults
  }()

  /// The faults that make an error of a code possible; none for a code that must not occur.
  static func faults(of code: String) -> Set<SimulationFault> { faultsByCode[code] ?? [] }
}
