#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An open file or directory. It is closed with the value.
struct Descriptor: ~Copyable {
  let rawValue: Int32

  init(_ rawValue: Int32) { self.rawValue = rawValue }

  /// An error of close does not matter: what must be durable was synced before.
  deinit { _ = close(rawValue) }
}
