import Replicator
import StoreTesting

/// Loses the answers to appends.
struct AnswerLosingRemote: ForwardingRemote {
  let remote: any RemoteLog

  func append(_ segment: PackedSegment, after token: ChangeToken) async throws(RemoteError) -> AppendOutcome {
    _ = try await remote.append(segment, after: token)
    throw RemoteError(.unreachable, "the answer is lost", hint: "try again")
  }
}
