/// What the replicator's tests start in processes of its own: the first argument names the part to play.
@main
struct RemoteWriter {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    default: preconditionFailure("no such part: \(arguments.first ?? "none")")
    }
  }
}
