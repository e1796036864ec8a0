import Foundation

/// As `WideTests` of StoreTesting, on which these tests do not depend.
enum WideTests {
  static let areWanted = ProcessInfo.processInfo.environment["WIDE_TESTS"] != nil
}
