import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import PostgresIndex
import RemoteIndex
import RemoteService
import Replicator
import S3Remote
import ServiceLifecycle
import URLSessionTransport
import UnixSignals

@main
struct TributaryServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tributary-server",
    abstract: "Serves a remote of Tributary over HTTP.",
    discussion: """
      With --data it keeps all that it serves in a directory of its own. With --gateway it serves a remote in a folder, which \
      others may use beside it. With --index and --objects any number of servers, behind a load balancer, keep it together \
      in a database of PostgreSQL and an object store.

      Each option may also come from the environment (TRIBUTARY_LISTEN for --listen, and so on), or from a YAML file that \
      --config names. A flag counts before the environment, and that before the file.

      The secret is the first line of a file, or the environment's TRIBUTARY_SECRET: at least 16 random characters, such as \
      `openssl rand -base64 24` prints. Clients send it. Without a secret it listens only at addresses of this machine, and \
      serves everybody who calls from there, also a proxy; --open lets it listen at others.

      It stops at SIGTERM and SIGINT: requests that have begun are finished, for at most ten seconds.

      Examples:
        tributary-server --data /srv/tributary --secret-file /etc/tributary/secret
        tributary-server --gateway folder:/srv/lists --secret-file /etc/tributary/secret
        tributary-server --index postgres://tributary@db/tributary --objects s3://lists/objects --secret-file secret
        tributary-server --gateway folder:/srv/lists --listen 0.0.0.0:8443 --secret-file secret \\
          --tls-certificate fullchain.pem --tls-key privkey.pem
      """)

  @Option(help: ArgumentHelp("Where to listen (127.0.0.1:8080 if nothing says it).", valueName: "host:port"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Where it keeps all that it serves. It is made if there is none.", valueName: "directory"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "The remote to serve: folder:DIRECTORY. It is made if there is none.", valueName: "remote"))
  var gateway: String?

  @Option(
    help: ArgumentHelp(
      "The database in which many servers keep the logs, of PostgreSQL. Give one with a password in the environment, as "
        + "TRIBUTARY_INDEX, or in a file.", valueName: "postgres://…"))
  var index: String?

  @Option(
    help: ArgumentHelp(
      "Where these servers keep snapshots and assets: folder:DIRECTORY that all of them have, or s3://BUCKET/PREFIX.",
      valueName: "place"))
  var objects: String?

  @Option(help: ArgumentHelp("A file with the secret that clients send.", valueName: "file"))
  var secretFile: String?

  @Option(help: ArgumentHelp("How many requests that read a device may send (50).", valueName: "count"))
  var readsPerSecond: Double?

  @Option(help: ArgumentHelp("How many requests that write a device may send (20).", valueName: "count"))
  var writesPerSecond: Double?

  @Flag(help: "Serve everybody who reaches it, without a secret.")
  var open = false

  @Option(help: ArgumentHelp("The certificate chain, PEM.", valueName: "file"))
  var tlsCertificate: String?

  @Option(help: ArgumentHelp("The certificate's private key, PEM.", valueName: "file"))
  var tlsKey: String?

  @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel: String?

  @Option(
    help: ArgumentHelp(
      "After how long a connection is closed that brings nothing, and waits for no answer (75).",
      valueName: "seconds"))
  var idleSeconds: Int?

  @Option(help: ArgumentHelp("A YAML file with these options.", valueName: "file"))
  var config: String?

  func run() async throws {
    let settings: ServerSettings
    do {
      settings = try self.settings(ProcessInfo.processInfo.environment)
      try await serve(settings)
    } catch let problem as ServerSettings.Problem {
      throw ValidationError(problem.description)
    } catch let error as RemoteError {
      FileHandle.standardError.write(
        Data("error: \(error.message) (\(error.code))\nhint: \(error.hint)\n".utf8))
      throw ExitCode(4)
    }
  }

  private func settings(_ environment: [String: String]) throws -> ServerSettings {
    let flags = [
      "listen": listen, "data": data, "gateway": gateway, "index": index, "objects": objects,
      "secret-file": secretFile,
      "open": open ? "true" : nil,
      "reads-per-second": readsPerSecond.map { "\($0)" },
      "writes-per-second": writesPerSecond.map { "\($0)" },
      "tls-certificate": tlsCertificate, "tls-key": tlsKey, "log-level": logLevel,
      "idle-seconds": idleSeconds.map { "\($0)" },
    ].compactMapValues { $0 }
    return try ServerSettings(flags: flags, environment: environment, file: config)
  }

  private func serve(_ settings: ServerSettings) async throws {
    guard let level = Logger.Level(rawValue: settings.logLevel) else {
      throw ServerSettings.Problem(description: "“\(settings.logLevel)” is no level of the log")
    }
    let logger = Logger(label: "tributary-server") { _ in JSONLogHandler(logLevel: level) }
    let admission = try admission(settings)
    let served = try await self.served(settings, logger)
    defer { served.close() }
    let health = Health(isReachable: served.isReachable)
    let service = RemoteService(
      admission: admission, limits: settings.limits, isGateway: settings.gateway != nil
    ) { _ throws(RemoteError) in served.remote }
    let (host, port) = try settings.address
    let application = Application(
      responder: ServiceResponder(service: service, health: health), server: try server(settings),
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
      onServerRunning: { channel in
        let address = channel.localAddress
        logger.notice(
          "serving",
          metadata: [
            "remote": "\(served.remote.name)", "host": "\(address?.ipAddress ?? host)",
            "port": "\(address?.port ?? port)",
            "tls": "\(settings.certificate != nil)",
            "secret": "\(settings.secret != nil || settings.secretFile != nil)",
          ])
      }, logger: logger)
    do {
      var group = ServiceGroupConfiguration(
        services: [application, Stopping(service: service, health: health)],
        gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
      // A request that never ends keeps nobody longer.
      group.maximumGracefulShutdownDuration = .seconds(10)
      // The services end in the order from last to first: the streams before what waits for them.
      try await ServiceGroup(configuration: group).run()
    } catch let error as IOError {
      throw ServerSettings.Problem(description: "it cannot listen at \(settings.listen): \(error)")
    }
    logger.notice("stopped")
  }

  private func admission(_ settings: ServerSettings) throws -> any Admission {
    if let text = settings.secret {
      guard let secret = SharedSecret(text) else {
        throw ServerSettings.Problem(
          description: "the secret in TRIBUTARY_SECRET has fewer than \(SharedSecret.bytesMin) bytes")
      }
      return secret
    }
    if let file = settings.secretFile {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        throw ServerSettings.Problem(description: "the secret's file \(file) cannot be read")
      }
      guard
        let secret = SharedSecret(
          (text.split(whereSeparator: \.isNewline).first ?? "").trimmingCharacters(in: .whitespaces))
      else {
        throw ServerSettings.Problem(
          description:
            "the secret in \(file) has fewer than \(SharedSecret.bytesMin) bytes: `openssl rand -base64 24` makes one"
        )
      }
      return secret
    }
    guard try settings.isOpen || settings.isLocal else {
      throw ServerSettings.Problem(
        description:
          "at \(settings.listen) others may reach it: give --secret-file, or --open to serve everybody")
    }
    return OpenAdmission(hosts: settings.isOpen ? nil : ["localhost", "127.0.0.1", "[::1]"])
  }

  /// What it serves.
  private struct Served: Sendable {
    var remote: any RemoteLog
    /// Whether its database answers.
    var isReachable: @Sendable () async -> Bool = { true }
    var close: @Sendable () -> Void = {}
  }

  private func served(_ settings: ServerSettings, _ logger: Logger) async throws -> Served {
    if let directory = settings.data {
      let data = try await ServerData(directory: directory)
      return Served(remote: data.remote(of: ""), close: data.close)
    }
    if let address = settings.index {
      let place = try place(settings.objects ?? "")
      let index = try await PostgresIndex(
        address, milliseconds: { UInt64(max(0, SystemEnvironment.wallMilliseconds())) },
        makeRandom: SystemEnvironment.makeRandom,
        report: { error in logger.error("database", metadata: ["error": "\(error)"]) })
      try await index.bind(place)
      return Served(
        remote: IndexedRemote("", index, in: place), isReachable: index.isReachable, close: index.close)
    }
    let gateway = settings.gateway ?? ""
    guard gateway.hasPrefix("folder:"), gateway.count > 7 else {
      throw ServerSettings.Problem(
        description: "“\(gateway)” is no remote that it can serve: give folder:DIRECTORY")
    }
    return Served(remote: try await FolderRemote.create(directory: String(gateway.dropFirst(7))))
  }

  /// Where many servers keep snapshots and assets.
  private func place(_ address: String) throws -> ObjectPlace {
    if address.hasPrefix("folder:"), address.count > 7 { return .folder(String(address.dropFirst(7))) }
    guard address.lowercased().hasPrefix("s3://") else {
      throw ServerSettings.Problem(
        description: "“\(address)” is no place for objects: give folder:DIRECTORY or s3://BUCKET/PREFIX")
    }
    let bucket = try S3Address(address, environment: ProcessInfo.processInfo.environment)
    return S3Remote(bucket, transport: URLSessionTransport()).place
  }

  private func server(_ settings: ServerSettings) throws -> HTTPServerBuilder {
    let idle = HTTP1Channel.Configuration(idleTimeout: .seconds(Int64(settings.idleSeconds)))
    guard let certificate = settings.certificate, let key = settings.key else {
      return .http1(configuration: idle)
    }
    do {
      let chain = try NIOSSLCertificate.fromPEMFile(certificate).map {
        NIOSSLCertificateSource.certificate($0)
      }
      let key = try NIOSSLPrivateKey(file: key, format: .pem)
      return try .http2Upgrade(
        tlsConfiguration: .makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key)),
        configuration: HTTP2ChannelConfiguration(
          idleTimeout: .seconds(settings.idleSeconds), streamConfiguration: idle))
    } catch {
      throw ServerSettings.Problem(description: "the certificate or its key cannot be used: \(error)")
    }
  }
}

/// Ends what waits as the server stops.
private struct Stopping: Service {
  let service: RemoteService
  let health: Health

  func run() async throws {
    try? await gracefulShutdown()
    health.stop()
    service.stop()
  }
}
