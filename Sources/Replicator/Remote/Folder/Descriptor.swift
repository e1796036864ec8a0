#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An open file or directory, closed when its owner lets it go.
struct Descriptor: ~Copyable {
  let rawValue: Int32

  init(_ rawValue: Int32) { self.rawValue = rawValue }

  /// An error of close says nothing that we could use: what must last was synced before.
  deinit { _ = close(rawValue) }
}
