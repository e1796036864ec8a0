import OperationFormat
import Testing

/// A decoder and its encoder, and the rules that all such pairs must follow.
struct Codec<Thing: Equatable>: Sendable {
  let decode: @Sendable ([UInt8]) throws(FormatError) -> Thing
  let encode: @Sendable (Thing) throws(FormatError) -> [UInt8]

  /// The problem of decoding `bytes`; nil if they give an error with a place inside them, or a thing with
  /// exactly these bytes.
  func fault(_ bytes: [UInt8]) -> String? {
    do throws(FormatError) {
      let thing = try decode(bytes)
      do throws(FormatError) {
        let again = try encode(thing)
        if again != bytes { return "\(hex(bytes)) is encoded again as \(hex(again))" }
        return try decode(again) == thing ? nil : "\(hex(bytes)) gives two things that differ"
      } catch {
        return "\(hex(bytes)) is decoded and not encoded: \(error)"
      }
    } catch {
      return 0...bytes.count ~= error.offset ? nil : "\(hex(bytes)) has an error outside: \(error)"
    }
  }

  /// The problems of a thing's round trip, and of its bytes cut at every byte, with each bit flipped, and
  /// with a byte after them.
  func faults(of thing: Thing) -> [String] {
    do throws(FormatError) {
      let bytes = try encode(thing)
      var faults: [String] = []
      if try decode(bytes) != thing { faults.append("\(hex(bytes)) gives another thing") }
      for count in 0..<bytes.count {
        let code = code(Array(bytes.prefix(count)))
        if code != .truncated {
          faults.append("\(hex(bytes)) cut to \(count) is \(code?.rawValue ?? "fine")")
        }
      }
      if code(bytes + [0]) != .trailingBytes { faults.append("\(hex(bytes)) and a byte is accepted") }
      for bit in 0..<(8 * bytes.count) {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        if let fault = fault(flipped) { faults.append(fault) }
      }
      return faults
    } catch {
      return ["an error in a round trip: \(error)"]
    }
  }

  /// The code of the error that `bytes` give; nil for none.
  func code(_ bytes: [UInt8]) -> FormatError.Code? { error(bytes)?.code }

  /// The error that `bytes` give; nil for none.
  func error(_ bytes: [UInt8]) -> FormatError? {
    do throws(FormatError) {
      _ = try decode(bytes)
      return nil
    } catch {
      return error
    }
  }

  /// The code of the error that encoding gives; nil for none.
  func code(encoding thing: Thing) -> FormatError.Code? {
    do throws(FormatError) {
      _ = try encode(thing)
      return nil
    } catch {
      return error.code
    }
  }
}

/// Bytes with some changed, removed or inserted.
func mutated(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
  var bytes = bytes
  for _ in 0...random.below(3) {
    let index = random.below(bytes.count + 1)
    switch random.below(4) {
    case 0: bytes.insert(UInt8(random.below(256)), at: index)
    case 1 where index < bytes.count: bytes.remove(at: index)
    case 2 where index < bytes.count: bytes[index] = UInt8(random.below(16))
    default: if index < bytes.count { bytes[index] = UInt8(random.below(256)) }
    }
  }
  return bytes
}
