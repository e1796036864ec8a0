/// The identity of a transaction in its zone: its replica, epoch and sequence.
///
/// Text form: `replica.epoch.sequence`.
public struct TransactionID: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The store that made the transaction.
  public var replica: ReplicaID
  /// Which epoch of that store's identity made it.
  public var epoch: UInt32
  /// The number of the transaction in its lane (the replica, epoch and zone): from 1, without gaps.
  public var sequence: UInt64

  /// Creates an identity. `sequence` counts from 1; the encoder checks that.
  public init(replica: ReplicaID, epoch: UInt32, sequence: UInt64) {
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
  }

  /// Parses the text form; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    self.init(scanning: &scanner)
    guard scanner.isAtEnd else { return nil }
  }

  init?(scanning scanner: inout TextScanner) {
    guard let replica = scanner.hexadecimal(digits: 32), scanner.skip("."),
      let epoch = scanner.decimal(max: UInt64(UInt32.max)), scanner.skip("."),
      let sequence = scanner.decimal(), sequence > 0
    else { return nil }
    self.init(replica: ReplicaID(rawValue: replica), epoch: UInt32(epoch), sequence: sequence)
  }

  /// `replica.epoch.sequence`
  public var description: String { "\(replica).\(epoch).\(sequence)" }

  /// Orders by replica, then epoch, then sequence.
  public static func < (a: TransactionID, b: TransactionID) -> Bool {
    (a.replica, a.epoch, a.sequence) < (b.replica, b.epoch, b.sequence)
  }
}
