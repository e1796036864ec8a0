/// The whole format of a run: consecutive transactions of one replica and epoch in one zone, which share what
/// they have alike.
///
/// A run is packaging only: decoding it gives the bytes of each transaction (``TransactionFormat``), and hashes
/// are taken of those. What contains a run says its version, its layout and its ``RunContext``. A transaction's
/// sequence is that of the one before, plus 1.
///
/// A run may have several encodings; a decoder accepts them all. One form only would not be worth its check,
/// which is to encode again: nothing is derived from these bytes, and the frame of a compressor around them is
/// not unique either.
///
/// ## Layout
///
/// Each part belongs to a ``RunColumn``. In *rows*, all parts stand one after the other in the order of the
/// tables below, so a transaction can be appended to a run. In *columns*, the parts of a column stand together:
///
/// | bytes | field |
/// |---|---|
/// | 13 × 1–4 | byte counts of all columns but the last, varints |
/// | | the columns, in the order of ``RunColumn`` |
///
/// ## Numbers
///
/// A varint is an unsigned LEB128 number in its shortest form, and a zigzag number a signed one as a varint. A
/// *split* number is its bits from the eighth on as a varint, then its lowest 8 bits as a byte in the next
/// column. Differences wrap around at 64 bits.
///
/// ## A transaction
///
/// | column | form | field |
/// |---|---|---|
/// | heads | 1 byte | ``RunHead`` |
/// | heads | varint | if the head has not the bit 7: count of operations, 0 for a plain transaction |
/// | times | zigzag | if the head has the bit 6: time of arrival minus timestamp, in milliseconds |
/// | units | zigzag | with the base 2: offset of the base minus that of the base before |
/// | random, units | 16 bytes, varint | with the base 3: incarnation, big-endian; offset |
/// | times, timesLow | split | zigzag of the milliseconds minus those before, times 2, plus 1 if the counter follows |
/// | numbers, numbersLow | split | the counter. It is not there if it is the one before plus 1 in the same millisecond, or 0 in another |
/// | random | 8 bytes | if the body has one: write id |
/// | words | word | if the body has them: author, label |
/// | words | zigzag | if the body has one: schema version minus the one before |
/// | | | the operations |
///
/// At the start, milliseconds, offset and schema version are 0, and the incarnation is the context's. A plain
/// transaction, which has no other bits in its head than 6, is its byte count (lengths, varint) and its bytes
/// (plain). It is for what the other form cannot give back: operations of unknown kinds, a parent, another
/// zone or sequence, any other bytes.
///
/// ## An operation
///
/// | column | form | field |
/// |---|---|---|
/// | heads | varint | number of its shape, from 1; 0 for a new one, which follows |
/// | heads | varint, 1 byte | of a new shape: kind, from 1; ``RunMode`` |
/// | words | name | of a new shape: type and field, as far as the kind has them |
/// | records | name | unless the mode has the bit 4: record |
/// | strings | string | the key of a map's entry |
/// | units | unit | the element that is moved or replaced |
/// | units | unit, or 0 for none | unless the mode has the bit 3: the origin |
/// | | | the rest of the operand |
///
/// The rest is one of these:
///
/// | column | form | field |
/// |---|---|---|
/// | | | a value |
/// | units, plain | varint, values | inserted elements: their count; their bytes as in a transaction |
/// | units | varint, unit, varint | removed runs: their count, and for each the first unit and the count of units; with the bit 3 only the latter, of one run |
/// | lengths, letters | varint, bytes | inserted text: byte count, UTF-8 |
/// | words | 3 words | the other place of a record: owner, zone, record |
///
/// A transaction's table of names is that of a canonical body: each name at its first use. A run keeps its first
/// 65,536 shapes.
///
/// ## A name, a word, a string
///
/// A varint: the number of a text of its sort that the run has said, from 1; 0 for another one, which follows.
/// Words are authors, labels and places. A run keeps the first 196,608 names of at most 255 bytes (another one
/// is invalid), the first 65,536 words of at most 1,024 bytes, and the first 4,096 strings of at most 64 bytes.
///
/// | column | form | field |
/// |---|---|---|
/// | lengths | varint | length times 4, plus the form: ``RunTextForm`` |
/// | texts | bytes | form 0: as many bytes as the length |
/// | random | bytes | form 1: as many bytes as the length, each two hexadecimal digits in lower case |
/// | random | 16 bytes | form 2: a UUID in its text form; the length is 1 if its digits are in upper case, else 0 |
/// | lengths, texts | varint, bytes | form 3: count of the first bytes of the text of this sort that was kept last; then as many bytes as the length |
///
/// ## A unit
///
/// | column | form | field |
/// |---|---|---|
/// | units | varint | 1 the replica's own; 2 of a maker that follows; from 3 on, of the makers so far in the run |
/// | random, units | 16 bytes, varint | with 2, the maker: replica, big-endian; epoch |
/// | units | zigzag | number, minus: of an own unit, what ``UnitCursor`` expects; of another maker's, its last number, 0 at first |
///
/// The number after a new maker is a varint.
///
/// ## A value
///
/// By its ``RunValueForm``, which the mode says:
///
/// | form | column | |
/// |---|---|---|
/// | 0 | plain | the value as in a transaction |
/// | 1 int | numbers, numbersLow | split: its zigzag bits |
/// | 2 string | strings | a string |
/// | 3 date | numbers, numbersLow | split: zigzag of its microseconds minus those of the timestamp's milliseconds |
/// | 4–6 reference | records | a reference into the holder's zone, with the rule none, cascade, nullify: a name |
/// | 7 UUID | random | 16 bytes, big-endian |
enum RunFormat {
  /// The most names, of types, fields and records.
  static let namesMax = Limits.transactionNamesMax
  /// The most authors, labels and parts of places.
  static let wordsMax = 1 << 16
  /// The most strings, and the longest: longer ones are hardly said twice.
  static let stringsMax = 1 << 12
  static let stringBytesMax = 64
  /// The most shapes of operations.
  static let shapesMax = 1 << 16
}
