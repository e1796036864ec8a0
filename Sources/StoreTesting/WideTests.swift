import Foundation

/// Tests that go through very many cases: `make test-wide` runs them too.
package enum WideTests {
  /// Whether they are wanted: by the environment variable `WIDE_TESTS`.
  package static let areWanted = ProcessInfo.processInfo.environment["WIDE_TESTS"] != nil
}
