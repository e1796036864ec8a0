@testable import OperationFormat

extension Codec where Thing == Value {
  static var value: Codec<Value> {
    Codec(
      decode: { (bytes) throws(FormatError) in try Value(decoding: bytes.span.bytes) },
      encode: { (value) throws(FormatError) in try value.encoded() })
  }
}

extension Codec where Thing == LogTransaction {
  static var transaction: Codec<LogTransaction> {
    Codec(
      decode: { (bytes) throws(FormatError) in try LogTransaction(decoding: bytes.span.bytes) },
      encode: { (transaction) throws(FormatError) in try transaction.encoded() })
  }
}

extension Codec where Thing == TransactionHeader {
  static var header: Codec<TransactionHeader> {
    Codec(
      decode: { (bytes) throws(FormatError) in
        var reader = ByteReader(bytes.span.bytes)
        let header = try TransactionHeader.read(from: &reader)
        try reader.finish("header")
        return header
      },
      encode: { (header) throws(FormatError) in
        try header.check()
        var writer = ByteWriter()
        header.encode(into: &writer)
        return writer.bytes
      })
  }
}

/// The error of the validator, which must equal that of the decoder; nil for none.
func validationError(_ bytes: [UInt8]) -> FormatError? {
  do throws(FormatError) {
    var reader = ByteReader(bytes.span.bytes)
    try validateValue(&reader)
    try reader.finish("value")
    return nil
  } catch {
    return error
  }
}
