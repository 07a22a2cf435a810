import Platform

/// Starting other programs; posix_spawn(3).
package enum ChildProcess {
  /// What a program does not share with this process, so that signals reach only one of them.
  package enum Apart { case nothing, group, session }

  /// The files of a program; by default this process's.
  package struct Files {
    /// Whether it gets no input, instead of this process's input.
    package var hasNoInput = false
    package var output: Int32?
    package var errors: Int32?

    package init(hasNoInput: Bool = false, output: Int32? = nil, errors: Int32? = nil) {
      (self.hasNoInput, self.output, self.errors) = (hasNoInput, output, errors)
    }
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - words: its path and its arguments.
  ///   - variables: its environment.
  ///   - signals: those that it must not ignore, although this process does.
  /// - Returns: its number, or the system's error number.
  package static func start(
    _ words: [String], variables: [String: String], files: Files = Files(), apart: Apart = .nothing,
    noticing signals: [Int32] = []
  ) -> (id: Int32, error: Int32) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if files.hasNoInput {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    }
    for (file, end) in [(files.output, STDOUT_FILENO), (files.errors, STDERR_FILENO)] {
      if let file { posix_spawn_file_actions_adddup2(&actions, file, end) }
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noticed = sigset_t()
    sigemptyset(&noticed)
    for signal in signals { sigaddset(&noticed, signal) }
    posix_spawnattr_setsigdefault(&attributes, &noticed)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | flag(of: apart))
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    let settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in arguments + settings { free(text) } }
    var id: pid_t = 0
    let error = posix_spawn(
      &id, words[0], &actions, &attributes, arguments + [nil], settings + [nil])
    return (id, error)
  }

  private static func flag(of apart: Apart) -> Int16 {
    switch apart {
    case .nothing: 0
    case .group: Int16(POSIX_SPAWN_SETPGROUP)
    case .session:
      #if canImport(Darwin)
        0x0400
      #else
        0x80
      #endif
    }
  }

  /// Waits for the end of a program that this process started.
  ///
  /// - Returns: its exit code; as in shells, 128 plus a signal's number.
  package static func end(of id: Int32) -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) == -1, errno == EINTR {}
    return code(ofStatus: status)
  }

  /// - Parameter status: as wait(2) gives it.
  package static func code(ofStatus status: Int32) -> Int32 {
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }
}
