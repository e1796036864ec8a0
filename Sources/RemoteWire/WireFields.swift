package import HTTPTypes

/// The header fields of the protocol.
extension HTTPField.Name {
  /// The version of the protocol, in all answers: whatever lacks it was not sent by a server of Tributary.
  package static let version = Self("Tributary-Version")!
  /// The code of a `RemoteError`, or of an outcome that is not a success.
  package static let code = Self("Tributary-Code")!
  /// An offset in a log, or in the list of zones.
  package static let offset = Self("Tributary-Offset")!
  /// When an entry was received, in milliseconds since 1970.
  package static let received = Self("Tributary-Received")!
  /// Of an append: when an entry was received whose transactions are offered again.
  package static let formerReceived = Self("Tributary-Former-Received")!
  /// A log's chain at an offset, 64 hexadecimal digits.
  package static let chain = Self("Tributary-Chain")!
  /// What has become of a log: `deleted`, `purged`, `reset`, `revoked`.
  package static let fate = Self("Tributary-Fate")!
  /// The zone that a log is of, as the text of a `ZoneID`, percent-encoded. Without it the server looks it up.
  package static let zone = Self("Tributary-Zone")!
  /// A token: where the next call is to continue.
  package static let token = Self("Tributary-Token")!
  /// `1` if there is more after a page.
  package static let more = Self("Tributary-More")!
  /// How many chunks of an asset are there.
  package static let chunks = Self("Tributary-Chunks")!
  /// `1` if a call has had its effect, `0` if it could not.
  package static let done = Self("Tributary-Done")!
  /// Tells a device of an account from others: any text.
  package static let device = Self("Tributary-Device")!
  /// Of an append: `1` if others look for it where the server's remote is, so that it is to be announced.
  package static let announce = Self("Tributary-Announce")!
  /// Where the remote is now.
  package static let newAddress = Self("Tributary-Address")!
}

extension HTTPFields {
  /// Sets a field, if there is a value.
  package mutating func set(_ name: HTTPField.Name, _ value: (some CustomStringConvertible)?) {
    if let value { self[name] = value.description }
  }
}
