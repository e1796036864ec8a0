import ChildProcesses
import StoreTesting
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Client processes at one folder, of which some are always killed, paused or cut off from it.
///
/// Each client reaches the folder through a symbolic link of its own. To cut one off, the link goes, or leads to an empty
/// folder, as that of a disk that is not mounted, or to another remote.
struct FolderRun {
  /// What happens to a client, and to all of them at once.
  enum Fault: CaseIterable {
    case killed, paused, folderGone, folderEmpty, otherRemote, allCutOff
  }

  struct Figures: CustomStringConvertible, Sendable {
    var rounds = 0
    var faults: [Fault: Int] = [:]
    var kills: Int { faults[.killed, default: 0] }

    var description: String {
      let kinds = faults.sorted { "\($0.key)" < "\($1.key)" }.map { "\($0.key) \($0.value)" }
      return "\(rounds) rounds (\(kinds.joined(separator: ", ")))"
    }
  }

  private struct Client {
    var child: ChildProcess?
    var isPaused = false
    var isCutOff = false
    /// The round after which it is well again.
    var until = 0
    var hasFault: Bool { child == nil || isPaused || isCutOff }
  }

  /// A client that prints nothing for so many seconds hangs.
  private static let waitSeconds = 120

  private(set) var histories: [ClientHistory]
  private(set) var figures = Figures()
  private let directory: String
  private var random: SeededRandom
  private var clients: [Client]
  private var areAllCutOff = false

  /// Starts a client at each of the stores `0.store`, `1.store`, … beside the folder `remote`.
  init(in directory: String, count: Int, seed: UInt64) {
    self.directory = directory
    histories = (0..<count).map { ClientHistory(number: $0) }
    random = SeededRandom(seed: seed)
    clients = (0..<count).map { _ in Client() }
    mkdir("\(directory)/empty", 0o700)
    for number in 0..<count {
      link(number, to: "remote")
      start(number)
    }
  }

  // MARK: Rounds

  /// Ends the faults whose time is over, begins another, and waits until those that run have read some times.
  mutating func round() {
    figures.rounds += 1
    for number in clients.indices where clients[number].hasFault && clients[number].until < figures.rounds {
      heal(number)
    }
    if areAllCutOff { cutAllOff(false) }
    let well = clients.indices.filter { !clients[$0].hasFault }
    // Some always run and are connected, so that there is something to miss.
    if well.count > max(1, clients.count / 3) { begin(Fault.allCases.randomElement(using: &random)!, well) }
    listen(reads: 20 + random.next(below: 20))
  }

  private mutating func begin(_ fault: Fault, _ well: [Int]) {
    figures.faults[fault, default: 0] += 1
    let number = well[random.next(below: well.count)]
    clients[number].until = figures.rounds + random.next(below: 4)
    switch fault {
    case .killed: kill(number)
    case .paused:
      clients[number].child?.send(SIGSTOP)
      clients[number].isPaused = true
    case .folderGone: cutOff(number, to: "nowhere")
    case .folderEmpty: cutOff(number, to: "empty")
    case .otherRemote: cutOff(number, to: "other")
    case .allCutOff: cutAllOff(true)
    }
  }

  private mutating func heal(_ number: Int) {
    if clients[number].isPaused { clients[number].child?.send(SIGCONT) }
    if clients[number].isCutOff { link(number, to: "remote") }
    (clients[number].isPaused, clients[number].isCutOff) = (false, false)
    if clients[number].child == nil { start(number) }
  }

  /// Ends all faults, and then the clients, once each has read again.
  mutating func end() {
    if areAllCutOff { cutAllOff(false) }
    for number in clients.indices { heal(number) }
    listen(reads: 1)
    for client in clients { client.child?.endInput() }
    for number in clients.indices { finish(number, .exit(0)) }
  }

  // MARK: Faults

  private func link(_ number: Int, to target: String) {
    // The name changes at once: no call finds none.
    symlink("\(directory)/\(target)", "\(directory)/folder \(number) next")
    rename("\(directory)/folder \(number) next", "\(directory)/folder \(number)")
  }

  private mutating func cutOff(_ number: Int, to target: String) {
    link(number, to: target)
    clients[number].isCutOff = true
  }

  private mutating func cutAllOff(_ isCutOff: Bool) {
    let names = ["\(directory)/remote", "\(directory)/remote elsewhere"]
    rename(names[isCutOff ? 0 : 1], names[isCutOff ? 1 : 0])
    areAllCutOff = isCutOff
  }

  private mutating func kill(_ number: Int) {
    clients[number].child?.send(SIGKILL)
    finish(number, .signal(SIGKILL))
  }

  // MARK: Processes

  private mutating func start(_ number: Int) {
    let arguments = [
      "client", "\(directory)/\(number).store", "\(directory)/folder \(number)", "\(number)",
      "\(clients.count)", "\(random.next() >> 8)",
    ]
    // Every second client is of another version, if there is one.
    clients[number].child = .remoteWriter(isOther: number % 2 == 1, takesInput: true, arguments)
  }

  /// Waits for the end of a client, and takes what is left of its output.
  private mutating func finish(_ number: Int, _ expected: ChildProcess.End) {
    guard let child = clients[number].child else { return }
    while child.receive() {}
    take(number, child)
    let end = child.wait()
    #expect(end == expected, "client \(number)")
    clients[number].child = nil
  }

  private mutating func take(_ number: Int, _ child: ChildProcess) {
    while let line = child.takeLine() { histories[number].take(line) }
  }

  /// Takes what the clients print, until each that runs has read so many times.
  private mutating func listen(reads: Int) {
    let goals = histories.map { $0.readCount + reads }
    let end = ContinuousClock.now + .seconds(Self.waitSeconds)
    while true {
      let late = clients.indices.filter {
        clients[$0].child != nil && !clients[$0].isPaused && histories[$0].readCount < goals[$0]
      }
      guard !late.isEmpty else { return }
      guard ContinuousClock.now < end else {
        Issue.record("clients \(late) hang")
        return
      }
      // Others print too, and would wait for a reader.
      let running = clients.indices.filter { clients[$0].child != nil }
      let children = running.map { clients[$0].child! }
      for index in ChildProcess.ready(children, waitingMilliseconds: 1000) {
        guard children[index].receive() else {
          finish(running[index], .exit(0))
          Issue.record("client \(running[index]) has ended by itself")
          continue
        }
        take(running[index], children[index])
      }
    }
  }
}
