import StoreTesting

extension ChildProcess {
  /// Starts `RemoteWriter`.
  convenience init(_ arguments: String...) { self.init(program: "RemoteWriter", arguments) }
}
