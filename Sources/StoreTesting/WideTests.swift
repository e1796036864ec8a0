import Foundation

/// How much tests go through that can go through very many cases. `make test-wide` runs all, and finds these tests by
/// the word `WideTests` in their files.
package enum WideTests {
  /// Whether all is wanted: by the environment variable `WIDE_TESTS`.
  package static let areWanted = ProcessInfo.processInfo.environment["WIDE_TESTS"] != nil

  /// Seeds, cases, steps or sizes: all of them if wanted, otherwise a share that has each kind of case.
  package static func choose<Share>(_ all: Share, otherwise some: Share) -> Share { areWanted ? all : some }
}
