import EventStore
import OperationFormat
import Replicator

/// A zone whose log is to be read again, as the user names it: ZONE@OFFSET, or ZONE for the log's start.
struct RereadArgument {
  let text: String
  var zone: ZoneID
  var offset: UInt64 = 1

  init(_ text: String) throws {
    self.text = text
    guard let mark = text.lastIndex(of: "@"), mark > text.startIndex,
      let offset = UInt64(text[text.index(after: mark)...])
    else {
      zone = try Inputs.zone(text)
      return
    }
    guard 1...Limits.placeMax ~= offset else { throw Self.noOffset(text, hint: "offsets count from 1") }
    (zone, self.offset) = (try Inputs.zone(String(text[..<mark])), offset)
  }

  private static func noOffset(_ text: String, hint: String) -> ToolError {
    .input("entryInvalid", "“\(Display.plain(text))” does not name an offset of a log", hint: hint)
  }

  func begin(_ store: LocalStore, _ log: any RemoteLog) async throws {
    let token = try store.read { transaction in
      // The text after the last @ may be meant as an offset, but is not one.
      if let mark = text.lastIndex(of: "@"), mark > text.startIndex, zone == ZoneID(text),
        try !transaction.hasZone(zone)
      {
        throw Self.noOffset(text, hint: "write it as zone@offset, such as \(text[..<mark])@12")
      }
      try Inputs.check(zone, in: transaction)
      return try transaction.changeToken(of: zone)
    }
    if let token, offset > token.offset + 1 {
      let name = Display.zone(zone)
      throw ToolError.input(
        "entryInvalid",
        "this store has read the log of \(name) only up to offset \(token.offset), not \(offset)",
        hint: "give an offset from 1, the log's start, to \(token.offset + 1)")
    }
    if let token { try await check(token, log) }
    guard try await store.beginRereading(zone, from: offset) == nil else { return }
    throw ToolError(
      "zoneUnknown", "zone “\(Display.zone(zone))” was never synced: it has no log to read again",
      hint: "sync it first", exit: .input)
  }

  /// Throws if the remote does not have what is to be read again.
  private func check(_ token: ChangeToken, _ log: any RemoteLog) async throws {
    let before = ChangeToken(
      zone: token.zone, incarnation: token.incarnation, offset: offset - 1, hash: .zero)
    do throws(RemoteError) {
      _ = try await log.segments(after: before, bytesMax: 1)
    } catch {
      // Nothing else matters yet.
      guard error.code == .expired else { return }
      throw ToolError.input(
        "expired",
        "the remote does not have the log of \(Display.zone(zone)) from offset \(offset) on any more",
        hint:
          "what the store has is kept. `replay remote` says where the log begins. A new store begins there")
    }
  }
}
