import Foundation
import Logging

/// Writes a line of JSON for each message, to the standard error.
struct JSONLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var fields: [String: String] = [:]
    for (name, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
      fields[name] = "\(value)"
    }
    fields["time"] = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    fields["level"] = "\(event.level)"
    fields["message"] = "\(event.message)"
    guard
      var line = try? JSONSerialization.data(
        withJSONObject: fields, options: [.sortedKeys, .withoutEscapingSlashes])
    else { return }
    line.append(0x0A)
    // A log that cannot be written is no reason to stop.
    try? FileHandle.standardError.write(contentsOf: line)
  }
}
