import Foundation
import Synchronization

/// Starting processes by `posix_spawn`: only the three standard streams are inherited.
enum Spawn {
  /// Held while a process starts and while a pipe is made, so that no process inherits a pipe
  /// that is not marked yet.
  static let lock = Mutex(())

  static func start(
    executable: String, arguments: [String], environment: [String: String],
    input: Int32, output: Int32, errors: Int32
  ) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, errors, 2)
    // Sockets of the test would stay open in a child that inherited them.
    #if canImport(Darwin)
      let inheritance = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #else
      try closeFrom(&actions, 3)
      let inheritance: Int16 = 0
    #endif
    // The test process may ignore or block signals; its children start with the defaults.
    var all = sigset_t()
    sigfillset(&all)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK) | inheritance)
    let argumentVector = ([executable] + arguments).map { strdup($0) } + [nil]
    let environmentVector = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for pointer in argumentVector + environmentVector { free(pointer) } }
    var id = pid_t()
    let result = lock.withLock { _ in
      posix_spawn(&id, executable, &actions, &attributes, argumentVector, environmentVector)
    }
    guard result == 0 else {
      throw ProcessFailure("cannot start \(executable): \(String(cString: strerror(result)))")
    }
    return id
  }
}

#if !canImport(Darwin)
  /// `posix_spawn_file_actions_addclosefrom_np`, which the headers hide from Swift.
  private func closeFrom(
    _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32
  ) throws {
    typealias Function =
      @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
      throw ProcessFailure("this C library cannot start a process without inherited files")
    }
    // The type is that of <spawn.h> since glibc 2.34.
    let result = unsafeBitCast(symbol, to: Function.self)(actions, first)
    guard result == 0 else { throw ProcessFailure(String(cString: strerror(result))) }
  }
#endif

/// A pipe whose ends are not inherited by other processes.
struct DescriptorPair {
  var reading: Int32
  var writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    // Under the lock that starts processes: none starts between the two steps.
    let result = Spawn.lock.withLock { _ in
      let result = pipe(&ends)
      for end in ends where result == 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return result
    }
    guard result == 0 else { throw ProcessFailure("no pipe: \(String(cString: strerror(errno)))") }
    reading = ends[0]
    writing = ends[1]
  }
}
