internal import HTTPTypes
internal import RemoteWire

/// Finds out which call a request is.
struct Router: Sendable {
  enum Target: Sendable {
    /// What the service says about itself.
    case service
    /// The stream of hints.
    case events
    /// A call of a remote, and the free parts of the path.
    case verb(any RemoteVerb.Type, free: [String])

    /// Whether it changes nothing, though it has a body.
    var isRead: Bool {
      if case .verb(let verb, _) = self { verb == ReadHeads.self } else { true }
    }
  }

  /// By how many parts the path has; those that count first come first.
  private let verbs: [Int: [any RemoteVerb.Type]]

  init() {
    verbs = Dictionary(grouping: remoteVerbs) { $0.route.parts.count }
      .mapValues { $0.sorted { $0.route < $1.route } }
  }

  /// - Throws: ``WireProblem`` with the status 404, or 405 if another method is right.
  func target(of request: WireRequest) throws(WireProblem) -> Target {
    if Route.service.matches(request) { return .service }
    if Route.events.matches(request) { return .events }
    var others: [String] = []
    for verb in verbs[request.path.count] ?? [] {
      guard let free = verb.route.parameters(of: request.path) else { continue }
      if verb.route.method == request.method { return .verb(verb, free: free) }
      others.append(verb.route.method.rawValue)
    }
    if others.isEmpty {
      throw WireProblem(
        status: .notFound, description: "nothing is at /\(request.path.joined(separator: "/"))")
    }
    throw WireProblem(
      status: .methodNotAllowed,
      description: "\(request.method) is none of the methods there: \(others.joined(separator: ", "))")
  }
}
