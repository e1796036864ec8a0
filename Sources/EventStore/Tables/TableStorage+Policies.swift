import LMDB
import OperationFormat

extension TableStorage {
  /// Sets whether records of a type exist that were deleted and updated concurrently.
  func setPolicy(_ policy: ExistencePolicy, of type: NameNumber) throws {
    var policies = try policies()
    policies[type] = policy
    try put(.meta(.policies), in: tables.meta) { writer in
      for (type, policy) in policies.sorted(by: { $0.key < $1.key }) where policy != .latest {
        writer.append(varint: UInt64(type.rawValue))
        writer.append(policy.rawValue)
      }
    }
    forgetPolicies()
  }
}
