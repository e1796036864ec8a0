package import OperationFormat

/// Knows the identities behind the numbers of replicas.
package protocol ReplicaReading {
  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID
}

extension ReplicaReading {
  /// The order of heads everywhere: effective timestamp, replica, epoch, sequence, index.
  func isGreater(_ left: Head, _ right: Head) throws -> Bool {
    if left.timestamp != right.timestamp { return left.timestamp > right.timestamp }
    let (a, b) = (left.id, right.id)
    if a.replica != b.replica {
      return try replicaID(a.replica) > replicaID(b.replica)
    }
    return (a.epoch, a.sequence, a.index) > (b.epoch, b.sequence, b.index)
  }
}
