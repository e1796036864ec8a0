#if DEBUG
  import Synchronization

  /// Counts the C calls of one environment, and makes one of them fail, for tests.
  ///
  /// It does not count calls that cannot fail (`mdb_txn_abort`, `mdb_cursor_close`, `mdb_env_close`).
  package final class FaultPlan: Sendable {
    private struct State {
      var fault: Fault?
      var names: [String] = []
      var hasFailed = false
    }

    private struct Fault {
      var countdown: Int
      var name: String?
      var code: LMDBError.Code
    }

    private let state = Mutex(State())

    /// Creates a plan that only counts.
    package init() {}

    /// Creates a plan that makes the `number`-th call (from 1) fail with `code`; with `name`, only calls of
    /// that name count.
    package init(failing number: Int, of name: String? = nil, with code: LMDBError.Code) {
      fail(number, of: name, with: code)
    }

    /// Makes the `number`-th call from now (from 1) fail with `code`; with `name`, only calls of that name
    /// count.
    package func fail(_ number: Int, of name: String? = nil, with code: LMDBError.Code) {
      state.withLock {
        $0.fault = Fault(countdown: number, name: name, code: code)
        $0.hasFailed = false
      }
    }

    /// The names of all calls so far, in order.
    package var names: [String] { state.withLock { $0.names } }

    /// How many calls were made.
    package var count: Int { state.withLock { $0.names.count } }

    /// Whether the planned fault has happened.
    package var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Counts a call, and returns the code with which it must fail; nil if it need not.
    func register(_ call: StaticString) -> Int32? {
      let name = "\(call)"
      return state.withLock { state in
        state.names.append(name)
        guard var fault = state.fault, fault.name == nil || fault.name == name else { return nil }
        fault.countdown -= 1
        state.fault = fault.countdown > 0 ? fault : nil
        guard fault.countdown == 0 else { return nil }
        state.hasFailed = true
        return fault.code.rawValue
      }
    }
  }
#endif
