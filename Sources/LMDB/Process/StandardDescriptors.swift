#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Keeps files away from the descriptors of standard input, output and error.
package enum StandardDescriptors {
  /// Opens `/dev/null` as each of the descriptors 0 to 2 that is closed. Otherwise the next file that this
  /// process opens gets that number, and what is printed goes into the file: into a store's first page, for
  /// one.
  ///
  /// They stay unusable: a read of standard input fails, and so does a write to the others.
  package static func fill() {
    for descriptor in 0...2 as ClosedRange<Int32> where fcntl(descriptor, F_GETFD) < 0 {
      // A file gets the least number that is free.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
