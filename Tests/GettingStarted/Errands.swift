// page
import Tributary

struct Errand: Model {
  static let type: Name = "errand"
  let title = Field<String>("title", default: "untitled")
  let isDone = Field<Bool>("isDone")
}

@main
struct Errands {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let device = arguments.first ?? "laptop"
    let title = arguments.count > 1 ? arguments[1] : nil
    for line in try await sync(device, adding: title) { print(line) }
  }

  /// Adds an errand on a device, syncs the device, and returns what it shows then.
  static func sync(
    _ device: String, adding title: String?, in directory: String = "."
  ) async throws -> [String] {
    let store = try Store(
      "\(directory)/\(device).store", .durable,
      models: [Errand.self], zones: [.synced("home")], author: device)
    defer { store.close() }

    if let title {
      try await store.write { tx in
        try tx.create(Errand.self, in: "home") { $0.title = title }
      }
    }

    let remote = try await FolderRemote.create(directory: "\(directory)/shared")
    let report = try await LogReplicator(store: store, remote: remote).syncOnce()
    print("sent \(report.sent), received \(report.received)")

    let open = Errand.where { $0.isDone == false }.sorted(by: \.title)
    return try store.fetch(open).map(\.title)
  }
}
// page end
