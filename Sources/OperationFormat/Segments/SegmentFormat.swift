/// The whole format of a segment, in the order of its bytes: in a remote log an envelope, then a header, a
/// body and a hash.
///
/// A segment is consecutive transactions of one replica in one zone. Integers are varints, and a text is a
/// byte count and UTF-8, as in ``TransactionFormat``, unless a width is given.
///
/// ## The envelope
///
/// A remote log of files or objects writes it before a segment: the offset, the time of receipt, and with
/// version 2 the log's chain. ``SegmentEnvelope``, ``LogChain``
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRLE` |
/// | 1 | version: 2, or 1 |
/// | 1 | flags: 1 if its transactions are offered again: the time is then that of a former entry, or an earlier one |
/// | 8 | offset in the zone's log, from 1, little-endian |
/// | 8 | milliseconds since 1970 of its first arrival, plus 1; 0 for none; little-endian |
/// | 8 | byte count of the segment, little-endian |
/// | 4 | CRC-32C of the bytes before, little-endian |
/// | 32 | with version 2, the log's chain at the offset |
/// | 4 | with version 2, CRC-32C of all bytes before, little-endian |
/// | | the segment, which has its own hash |
///
/// ## A segment as it is sent
///
/// ``SegmentFrame``
///
/// | bytes | field |
/// |---|---|
/// | 136–470 | header |
/// | | body, packed as the header says |
/// | 64 | if signed, the signature of the device |
/// | 64 | if offered again and signed before, the signature of the former device |
/// | 32 | SHA-256 of the bytes before |
///
/// ## The header
///
/// ``SegmentHeader``. It has only one form, because an encryption of the body will authenticate it. Magic,
/// version, flags, byte count and checksum keep their place in later versions. So a reader can distinguish a
/// damaged header from a newer one.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRSG` |
/// | 1 | version: 2, or 1 |
/// | 1 | flags: with version 2, 1 sealed, 2 signed, 4 offered again |
/// | 2 | byte count of the whole header, little-endian |
/// | 1–130 | with version 1, zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 16 | incarnation, big-endian |
/// | 16 | replica, big-endian |
/// | 1–5 | epoch: varint, at most 2^32 − 1 |
/// | 1–9 | first sequence: varint, from 1 |
/// | 1–9 | last sequence: varint, at most 2^63 − 1 |
/// | 1–10 | base: varint, 0 for none |
/// | 32 | with a base, the log's chain there; with version 1, the content hash of the segment there |
/// | 1–3 | unless sealed, count of operations: varint, 1 to 65,536 |
/// | 8 | unless sealed, least timestamp, little-endian |
/// | 8 | unless sealed, greatest timestamp, little-endian |
/// | 1 | codec: 0 none, 1 Zstandard, 2 a run and Zstandard |
/// | 1–5 | key id: varint, from 1 if sealed, else 0 |
/// | 1–4 | unless sealed, bytes of the unpacked body: varint |
/// | 1–4 | bytes of the packed body: varint |
/// | 32 | content hash: SHA-256 of the unpacked body; of a sealed one, its HMAC |
/// | 32 | content hash of this replica's segment before it; zeros for the first |
/// | 16 | if signed, device, big-endian |
/// | 67–120 | if offered again, ``FormerPlace``: incarnation (16, big-endian), offset (0 if it is not said) and base (varints), with a base the chain there (32), previous hash (32), key id (varint), 1 and the device (16) if it was signed, else 0 |
/// | 4 | CRC-32C of the bytes before, little-endian |
///
/// ## The body, unpacked
///
/// ``SegmentBody``. For each transaction:
///
/// | bytes | field |
/// |---|---|
/// | 1–4 | byte count of the transaction: varint |
/// | | the transaction: ``TransactionFormat`` |
///
/// With the codec 1, it is packed as one Zstandard frame (RFC 8878); with 2, its transactions are a run in
/// columns (``RunFormat``), and the run is packed as one such frame. The frame states its content's size.
///
/// The other files of a remote log are a ``LogSeal``, a ``LogTombstone`` and the ``ZoneEvent``s of its list of zones.
enum SegmentFormat {
  /// Flags of a header, from version 2 on.
  struct Flags: OptionSet {
    let rawValue: UInt8

    static let sealed = Flags(rawValue: 1)
    static let signed = Flags(rawValue: 2)
    static let reoffered = Flags(rawValue: 4)
    static let all: Flags = [.sealed, .signed, .reoffered]
  }

  /// The size of a signature: Ed25519.
  static let signatureBytes = 64
  /// Magic, version, flags and byte count of a header.
  static let headerFixedBytes = 8
  static let envelopeVersion: UInt8 = 2
}
