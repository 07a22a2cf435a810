import Foundation
import Synchronization
import SystemPackage

/// Keeps one process ready that becomes the next agent. Whoever finds none starts the agent without.
final class AgentStarter: Sendable {
  private struct State {
    var ready: StarterProcess?
    var isMaking = false
    var isClosed = false
  }

  private let executable: FilePath
  private let state = Mutex(State())

  /// - Parameter executable: of the room AgentStarter.
  init(executable: FilePath) { self.executable = executable }

  /// The executable beside the daemon's own; nil where it is not there.
  static var executable: FilePath? {
    let folder = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
    guard let path = folder?.appending(path: "cospool-starter").path,
      FileManager.default.isExecutableFile(atPath: path)
    else { return nil }
    return FilePath(path)
  }

  /// The one that is ready; nil where there is none.
  func take() -> StarterProcess? {
    state.withLock { state in
      defer { state.ready = nil }
      return state.ready
    }
  }

  /// Makes one, where there is none and none is being made; where it cannot be made there is none.
  func makeReady() async {
    let isWanted = state.withLock { state in
      guard state.ready == nil, !state.isMaking, !state.isClosed else { return false }
      state.isMaking = true
      return true
    }
    guard isWanted else { return }
    let made = try? await StarterProcess.start(executable)
    state.withLock { state in
      state.isMaking = false
      if !state.isClosed { state.ready = made }
    }
  }

  /// Makes one after an agent that begins was left alone for a moment.
  func makeReadySoon() {
    let time = DispatchTime.now() + .milliseconds(StarterProcess.restMilliseconds)
    DispatchQueue.global().asyncAfter(deadline: time) {
      Task { await self.makeReady() }
    }
  }

  /// Lets go of the one that is ready, and makes no other.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.ready = nil
    }
  }
}
