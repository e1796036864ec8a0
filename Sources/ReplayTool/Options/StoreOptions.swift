import ArgumentParser
import EventStore

/// What every command about a store takes.
struct StoreOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The directory of the store.", valueName: "store"))
  var directory: String

  @Flag(name: .long, help: "Print JSON: one object, or one a line for lists.")
  var json = false

  /// Opens the store for reading alone: nothing in it changes.
  ///
  /// - Parameter opensDamaged: whether also one whose pages are damaged.
  func openForReading(_ console: Console, opensDamaged: Bool = false) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.opensDamaged = opensDamaged
    configuration.isReadOnly = true
    configuration.createsStore = false
    return try open(configuration, console)
  }

  /// Opens the store for a command that was told to change it.
  func openForWriting(_ console: Console, creates: Bool) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.createsStore = creates
    return try open(configuration, console)
  }

  /// Opens the store with a clock of the caller's.
  func openForWriting(
    _ console: Console, wallMilliseconds: @escaping @Sendable () -> Int64
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = wallMilliseconds
    configuration.makeRandom = console.makeRandom
    do {
      return try LocalStore(directory: directory, durability: .consistent, configuration: configuration)
    } catch {
      throw ToolError.opening(error)
    }
  }

  private func open(_ base: StoreConfiguration, _ console: Console) throws -> LocalStore {
    var configuration = base
    configuration.wallMilliseconds = console.wallMilliseconds
    configuration.makeRandom = console.makeRandom
    do {
      return try LocalStore(directory: directory, durability: .durable, configuration: configuration)
    } catch let error as StoreError where error.code == .damaged && base.opensDamaged {
      // Whoever opens what is damaged is what other commands' hints point to.
      throw ToolError(
        error.code.rawValue, error.message,
        hint: "keep a copy of the directory: nothing of this file can be read. What was sent comes from the "
          + "remote into a new store; what was never sent is in a backup of this store alone", exit: .store)
    } catch {
      throw ToolError.opening(error)
    }
  }
}
