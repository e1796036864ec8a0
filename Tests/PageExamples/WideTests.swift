import Foundation

/// As `WideTests` of StoreTesting, on which these tests do not depend.
enum WideTests {
  static let areWanted = ProcessInfo.processInfo.environment["WIDE_TESTS"] != nil

  static func choose<Share>(_ all: Share, otherwise some: Share) -> Share { areWanted ? all : some }
}
