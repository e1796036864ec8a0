package import Replicator

/// The address of a server: `http://HOST`, `https://HOST:PORT/PATH`.
package struct HTTPAddress: Hashable, Sendable {
  package let scheme: String
  /// The host, and the port if it is said.
  package let authority: String
  /// What is before the server's own paths: empty, or with a slash at its start and none at its end.
  package let path: String

  package init(_ text: String) throws(RemoteError) {
    func bad(_ why: String) -> RemoteError {
      RemoteError(
        // It may have a secret in it.
        .schemeUnknown, "“\(text.contains("@") ? "…" : text)” is no address of a server: \(why)",
        hint: "give it as http://HOST:PORT or https://HOST")
    }
    let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty else { throw bad("it does not begin with http:// or https://") }
    switch parts[0].lowercased() {
    case "http:": scheme = "http"
    case "https:": scheme = "https"
    default: throw bad("it does not begin with http:// or https://")
    }
    let host = parts[2]
    guard !host.isEmpty, host.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { throw bad("it names no host") }
    // A name and a password there would be in logs and messages.
    guard !text.contains("@") else { throw bad("a secret is given by itself, not in the address") }
    guard !text.contains("?"), !text.contains("#") else { throw bad("it has a query or a fragment") }
    authority = String(host)
    var rest = parts.count == 4 ? parts[3] : ""
    while rest.hasSuffix("/") { rest.removeLast() }
    path = rest.isEmpty ? "" : "/\(rest)"
    guard path.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { throw bad("its path is not percent-encoded") }
  }

  package var text: String { "\(scheme)://\(authority)\(path)" }
}
