import ArgumentParser
import Foundation
import RemoteService
import Yams

/// What the server is told: by flags, by the environment, by a file; the first that says it counts.
struct ServerSettings: Sendable, Equatable {
  var listen = "127.0.0.1:8080"
  var data: String?
  var gateway: String?
  var index: String?
  var objects: String?
  /// The secret itself, from the environment alone.
  var secret: String?
  var secretFile: String?
  var limits = ServiceLimits()
  var isOpen = false
  var certificate: String?
  var key: String?
  var logLevel = "info"
  /// A connection is closed that brings nothing for so long, and waits for no answer.
  var idleSeconds = 75

  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameters:
  ///   - flags: by the names of options, without dashes.
  ///   - environment: `TRIBUTARY_LISTEN` is the option `listen`, and so on.
  ///   - file: YAML with the same names; nil for none.
  init(flags: [String: String], environment: [String: String], file: String?) throws {
    var inFile: [String: String] = [:]
    if let file {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        throw Problem(description: "the file \(file) cannot be read")
      }
      do {
        for (name, value) in try Yams.load(yaml: text) as? [String: Any] ?? [:] { inFile[name] = "\(value)" }
      } catch {
        throw Problem(description: "the file \(file) is no YAML: \(error)")
      }
      if let unknown = inFile.keys.sorted().first(where: { !Self.names.contains($0) }) {
        throw Problem(
          description: "the file \(file) has “\(unknown)”; it may have \(Self.names.joined(separator: ", "))")
      }
    }
    func value(_ name: String) -> String? {
      flags[name] ?? environment["TRIBUTARY_\(name.uppercased().replacing("-", with: "_"))"] ?? inFile[name]
    }
    func rate(_ name: String, else standard: ServiceLimits.Rate) throws -> ServiceLimits.Rate {
      guard let text = value(name) else { return standard }
      guard let rate = Double(text), rate > 0, rate <= 1e9 else {
        throw Problem(description: "“\(name)” is a number above 0, and not “\(text)”")
      }
      return ServiceLimits.Rate(perSecond: rate, burst: max(1, 20 * rate))
    }
    listen = value("listen") ?? listen
    data = value("data")
    gateway = value("gateway")
    (index, objects) = (value("index"), value("objects"))
    secret = environment["TRIBUTARY_SECRET"]
    secretFile = value("secret-file")
    limits.reads = try rate("reads-per-second", else: limits.reads)
    limits.writes = try rate("writes-per-second", else: limits.writes)
    certificate = value("tls-certificate")
    key = value("tls-key")
    logLevel = value("log-level") ?? logLevel
    if let text = value("idle-seconds") {
      guard let seconds = Int(text), 1...86_400 ~= seconds else {
        throw Problem(description: "“idle-seconds” is a number from 1 to 86400, and not “\(text)”")
      }
      idleSeconds = seconds
    }
    switch value("open") {
    case nil, "false": isOpen = false
    case "true": isOpen = true
    case let other?: throw Problem(description: "“open” is true or false, and not “\(other)”")
    }
    guard [data, gateway, index].count(where: { $0 != nil }) == 1 else {
      throw Problem(
        description:
          "say what to serve, one of the three: --data DIRECTORY, --gateway folder:DIRECTORY, or --index postgres://… with "
          + "--objects")
    }
    guard (index == nil) == (objects == nil) else {
      throw Problem(description: "--index and --objects go together")
    }
    guard (certificate == nil) == (key == nil) else {
      throw Problem(description: "--tls-certificate and --tls-key go together")
    }
  }

  static let names = [
    "listen", "data", "gateway", "index", "objects", "secret-file", "reads-per-second", "writes-per-second",
    "open",
    "tls-certificate", "tls-key", "log-level", "idle-seconds",
  ]

  /// The host and the port of `listen`.
  var address: (host: String, port: Int) {
    get throws {
      guard let colon = listen.lastIndex(of: ":"), let port = Int(listen[listen.index(after: colon)...]),
        0...65535 ~= port, colon > listen.startIndex
      else { throw Problem(description: "“\(listen)” is no HOST:PORT to listen at") }
      var host = String(listen[..<colon])
      if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
      return (host, port)
    }
  }

  /// Whether only this machine reaches the server.
  var isLocal: Bool {
    get throws { ["127.0.0.1", "::1", "localhost"].contains(try address.host) }
  }
}
