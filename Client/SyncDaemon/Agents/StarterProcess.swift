import Foundation
import Subprocess
import Synchronization
import SystemPackage

/// A process that stands ready to become an agent: what to become is said before there is leave to begin,
/// and then it takes one byte. A process that is started after the leave comes 0.3 ms later.
///
/// It hears of it through a socket, and ends where that does: with this object, or with the daemon.
final class StarterProcess: Sendable {
  /// Why it did not become what it should.
  struct Fault: Error, Hashable, CustomStringConvertible {
    /// Where it was that; nil where it was the program.
    var folder: String?
    var code: Int32

    var description: String { (folder.map { "\($0): " } ?? "") + "\(Errno(rawValue: code))" }
  }

  /// Bytes of what it is told at most: they and the leave fit into the socket, whether or not it reads,
  /// so that nobody has to wait with the leave.
  private static let bytesMax = 65_536
  /// Nobody waits, and where it is gone no signal ends the daemon.
  private static let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
  /// How long an agent that begins is left alone, in milliseconds.
  static let restMilliseconds = 5

  /// Leads a session of its own.
  let id: pid_t
  private let control: FileDescriptor
  private let running: Task<TerminationStatus, any Error>
  private let isOver = Mutex(false)
  /// Why it could not be let begin.
  private let refusal = Mutex<Int32?>(nil)

  private init(id: pid_t, control: FileDescriptor, running: Task<TerminationStatus, any Error>) {
    self.id = id
    self.control = control
    self.running = running
  }

  deinit {
    // There is nothing to be done about one that does not close.
    try? control.close()
  }

  /// As all agents are started: in a session of its own, so that everything it starts can be stopped
  /// with it.
  static var options: PlatformOptions {
    var options = PlatformOptions()
    options.createSession = true
    return options
  }

  /// - Throws: where no process can be started.
  static func start(_ executable: FilePath) async throws -> StarterProcess {
    let (own, other) = try socketPair()
    let (ids, id) = AsyncStream<pid_t>.makeStream()
    let running = Task {
      defer { id.finish() }
      return try await Subprocess.run(
        .path(executable), environment: .custom([[UInt8]]()), platformOptions: options,
        input: .fileDescriptor(other, closeAfterSpawningProcess: true), output: .discarded,
        error: .discarded
      ) { execution in
        id.yield(execution.processIdentifier.value)
        id.finish()
      }.terminationStatus
    }
    for await id in ids { return StarterProcess(id: id, control: own, running: running) }
    try? own.close()
    _ = try await running.value
    throw Errno.noChildProcess
  }

  /// Says what to become; it becomes nothing before `begin`. It has copies of the pipes' ends, and they are
  /// closed here.
  ///
  /// - Returns: whether it takes it, which is no more than 64 KiB. Where it does not, it becomes nothing, and
  ///   nothing is closed.
  func takes(_ start: AgentStart, _ pipes: OutputPipes) -> Bool {
    guard let variables = start.variables, let ends = pipes.writers else { return false }
    let words = [start.program.string] + start.words
    let texts = [start.folder ?? ""] + words.prefix(1) + words
    let strings = texts.map { Array($0.utf8) + [0] } + variables
    // A zero within one of them would make two of it.
    guard strings.allSatisfy({ $0.firstIndex(of: 0) == $0.count - 1 }) else { return false }
    let bytes = Array(strings.joined())
    let input = Array((start.input ?? "").utf8)
    guard bytes.count + input.count <= Self.bytesMax else { return false }
    let counts = [bytes.count, words.count, variables.count, input.count].map(UInt32.init)
    let head = counts.withUnsafeBytes { Array($0) }
    guard send(head + bytes + input, with: [ends.output.rawValue, ends.errors.rawValue]) else {
      discard()
      return false
    }
    pipes.closeWriters()
    return true
  }

  /// Lets it become what it was told. Any thread may call it, and does not wait.
  func begin() {
    var leave: UInt8 = 1
    guard Foundation.send(control.rawValue, &leave, 1, Self.flags) != 1 else { return }
    let code = errno
    refusal.withLock { $0 = code }
    discard()
  }

  /// Has it end without having become anything, where it was not let to.
  func discard() { shutdown(control.rawValue, Int32(SHUT_RDWR)) }

  /// Waits until it became what it was told, or ended. Looks `restMilliseconds` later: whoever waits for
  /// the moment is woken in the midst of it, and takes its place on the processor.
  ///
  /// - Throws: `Fault` where it could not.
  func hasBegun(_ start: AgentStart) async throws {
    let (looks, look) = AsyncStream<Void>.makeStream()
    Task {
      _ = await running.result
      look.finish()
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Self.restMilliseconds)) {
      look.finish()
    }
    for await _ in looks {}
    if let code = refusal.withLock({ $0 }) { throw Fault(code: code) }
    guard let (stage, code) = await report() else { return }
    throw Fault(folder: stage == UInt8(ascii: "f") ? start.folder : nil, code: code)
  }

  /// At what it failed, and the system's error; nil where it did not.
  private func report() async -> (stage: UInt8, code: Int32)? {
    await withCheckedContinuation { continuation in
      // Loading a program from a slow disk may take longer.
      DispatchQueue.global().async { [self] in
        var bytes = [UInt8](repeating: 0, count: 5)
        var count = 0
        while count < bytes.count {
          let got = bytes.withUnsafeMutableBytes { bytes in
            read(control.rawValue, bytes.baseAddress.map { $0 + count }, bytes.count - count)
          }
          if got < 0, errno == EINTR { continue }
          guard got > 0 else { return continuation.resume(returning: nil) }
          count += got
        }
        let code = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 1, as: Int32.self) }
        continuation.resume(returning: (bytes[0], code))
      }
    }
  }

  /// Waits for its end. A task that is cancelled stops it, with all of its group.
  ///
  /// - Parameter stopGrace: between SIGTERM and SIGKILL.
  func ended(stopGrace: Duration) async throws -> TerminationStatus {
    defer { isOver.withLock { $0 = true } }
    return try await withTaskCancellationHandler {
      try await running.value
    } onCancel: {
      signal(SIGTERM)
      // Not kept from its end by whoever waits no more.
      DispatchQueue.global().asyncAfter(deadline: .now() + stopGrace / .seconds(1)) { [self] in
        signal(SIGKILL)
      }
    }
  }

  /// To all of its group, unless it ended.
  private func signal(_ number: Int32) {
    isOver.withLock { if !$0 { kill(-id, number) } }
  }

  // MARK: - The socket

  private static func socketPair() throws -> (own: FileDescriptor, other: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      // At once: agents that are started meanwhile must not hold an end of it.
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Errno(rawValue: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // More than twice what it is told.
    var room = Int32(4 * bytesMax)
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
  }

  /// Bytes, and beside the first of them descriptors (SCM_RIGHTS, unix(7)).
  ///
  /// - Returns: whether all of them found room.
  private func send(_ bytes: [UInt8], with descriptors: [Int32]) -> Bool {
    let header = MemoryLayout<cmsghdr>.stride
    let room = MemoryLayout<Int32>.stride * descriptors.count
    var beside = [UInt8](repeating: 0, count: header + (room + 7) / 8 * 8)
    beside.withUnsafeMutableBytes { beside in
      var head = cmsghdr()
      head.cmsg_len = .init(header + room)
      head.cmsg_level = SOL_SOCKET
      head.cmsg_type = Int32(SCM_RIGHTS)
      beside.storeBytes(of: head, as: cmsghdr.self)
      for (index, descriptor) in descriptors.enumerated() {
        beside.storeBytes(
          of: descriptor, toByteOffset: header + index * MemoryLayout<Int32>.stride, as: Int32.self)
      }
    }
    var bytes = bytes
    let sent = bytes.withUnsafeMutableBytes { bytes in
      beside.withUnsafeMutableBytes { beside in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = beside.baseAddress
          message.msg_controllen = .init(beside.count)
          return sendmsg(control.rawValue, &message, Self.flags)
        }
      }
    }
    return sent == bytes.count
  }
}
