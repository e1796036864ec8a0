import ChildProcesses
import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A process that runs worlds, one after the other, and its jobs.
final class SimulationWorker {
  /// A world to run.
  struct Job {
    var seed: UInt64
    /// Its number among all jobs, from 0.
    var ordinal: UInt64
    /// The run that this one repeats, and the worker that ran it.
    var first: (report: SeedReport, worker: Int)?
  }

  /// The worker's number. It is unique in a run, so that another worker repeats a seed.
  let number: Int
  let process: ChildProcess
  /// Its remaining jobs; it runs the first of them.
  private(set) var jobs: [Job] = []
  /// When the worker started, or when its last answer came.
  private(set) var milliseconds: Int64
  private(set) var taken = 0
  private let errors: String

  /// - Parameter errors: the file with its errors.
  init(number: Int, process: ChildProcess, errors: String, milliseconds: Int64) {
    self.number = number
    self.process = process
    self.errors = errors
    self.milliseconds = milliseconds
  }

  func give(_ job: Job, milliseconds: Int64) {
    if jobs.isEmpty { self.milliseconds = milliseconds }
    jobs.append(job)
    taken += 1
    process.send(String(job.seed))
  }

  /// Takes the next answer, if one has arrived.
  ///
  /// - Throws: ``ToolError`` `workerUnreadable` if it is not an answer.
  func takeAnswer(milliseconds: Int64) throws -> (job: Job, report: SeedReport)? {
    guard let line = process.takeLine() else { return nil }
    self.milliseconds = milliseconds
    let report: SeedReport
    do throws(JSONError) { report = try SeedReport(line: line) } catch { throw unreadable(line) }
    guard let job = jobs.first, job.seed == report.seed else { throw unreadable(line) }
    jobs.removeFirst()
    return (job, report)
  }

  private func unreadable(_ line: String) -> ToolError {
    ToolError(
      "workerUnreadable", "a worker printed “\(Display.plain(line, limit: 200))”",
      hint: "nothing in a world may write to standard output")
  }

  /// How the process ended, as text, with its last errors.
  func epitaph() -> String {
    var text: String
    switch process.wait() {
    case .exit(let code): text = "its process ended with \(code)"
    case .signal(let number):
      text = "its process was ended by signal \(number)"
      if let name = strsignal(number) { text += " (\(String(cString: name)))" }
    }
    if let words = lastWords() { text += ": \(words)" }
    return text
  }

  /// The most useful line of its errors; nil if there is none, or they cannot be read.
  private func lastWords() -> String? {
    guard let source = try? DescriptorSource(path: errors), let bytes = try? source.read(upTo: 1 << 16) else {
      return nil
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return (lines.first { $0.contains("atal error") } ?? lines.last).map {
      Display.plain(String($0), limit: 400)
    }
  }
}
