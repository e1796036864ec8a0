import ArgumentParser
import EventStore

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The directory of the store.", valueName: "store"))
  var directory: String

  @Flag(name: .long, help: "Print JSON: one object, or for lists one on each line.")
  var json = false

  /// Opens the store read-only: nothing in it changes.
  ///
  /// - Parameters:
  ///   - opensDamaged: whether to open a store with damaged pages too.
  ///   - allowsNetworkFileSystem: whether nobody writes to it, so that it may be on a network drive.
  func openForReading(
    _ console: Console, opensDamaged: Bool = false, allowsNetworkFileSystem: Bool = false
  ) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.allowsNetworkFileSystem = allowsNetworkFileSystem
    configuration.opensDamaged = opensDamaged
    configuration.isReadOnly = true
    configuration.createsStore = false
    return try open(configuration, console)
  }

  /// Opens the store for a command that the user gave to change it.
  func openForWriting(_ console: Console, creates: Bool) throws -> LocalStore {
    var configuration = StoreConfiguration()
    configuration.createsStore = creates
    return try open(configuration, console)
  }

  /// Opens the store with the caller's clock.
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
      // Other commands' hints point to the commands that open damaged stores. So this hint must not point to
      // them again.
      throw ToolError(
        error.code.rawValue, error.message,
        hint: "keep a copy of the directory: nothing of this file can be read. A new store can get from the "
          + "remote what was sent. What was never sent is only in a backup of this store", exit: .store)
    } catch {
      throw ToolError.opening(error)
    }
  }
}
