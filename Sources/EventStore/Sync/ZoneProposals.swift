import LMDB
import OperationFormat

// Under which incarnation a zone is made at the remote. It is stored before the first call, so that a
// deletion which comes while the call is under way can tell the remote what to delete.

extension ReadTransaction {
  func proposedIncarnation(of zone: ZoneNumber) throws -> IncarnationID? {
    guard let number = try readView.zones.proposedIncarnation(of: zone) else { return nil }
    return try readView.incarnations.identity(of: number)
  }
}
