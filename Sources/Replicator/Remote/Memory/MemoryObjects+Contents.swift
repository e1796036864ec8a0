internal import Synchronization

extension MemoryObjects {
  /// All objects; for StoreTesting and tests. Set them to go back to an earlier state.
  package var contents: [ObjectName: [UInt8]] {
    get { state.withLock { $0.objects } }
    set { state.withLock { $0.objects = newValue } }
  }
}
