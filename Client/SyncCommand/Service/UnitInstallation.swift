import Systemd

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A unit that is written and started. If it does not start, the former file is restored: the new
/// one would fail at every login.
struct UnitInstallation {
  let environment: Environment
  private let file: ServiceFile
  private let change: UnitChange

  /// Reads the present file.
  init(
    _ path: String, isActive: Bool, in environment: Environment
  ) async throws(CommandFailure) {
    self.environment = environment
    file = try ServiceFile(path)
    change = UnitChange(
      name: SystemdUnit.name, wasThere: file.former != nil,
      wasEnabled: try await ServiceCommands.says("is-enabled", in: environment),
      wasActive: isActive)
  }

  func start(_ text: String) async throws(CommandFailure) {
    try file.write(text)
    let began = Int(Date().timeIntervalSince1970)
    do throws(CommandFailure) {
      for words in change.start { try await ServiceCommands.systemctl(words, in: environment) }
    } catch {
      let wrote = await wrote(since: began)
      var problem: String?
      do throws(CommandFailure) { try await bringBack() } catch { problem = error.message }
      throw CommandFailure(
        code: error.code,
        message: change.failure(
          error.message, wrote: wrote, problem: problem, command: "cospool service"),
        exitCode: error.exitCode)
    }
  }

  private func bringBack() async throws(CommandFailure) {
    for words in change.takeBack { try await ServiceCommands.systemctl(words, in: environment) }
    try file.bringBack()
    for (words, mayFail) in change.bringBack {
      do throws(CommandFailure) {
        try await ServiceCommands.systemctl(words, in: environment)
      } catch {
        guard mayFail else { throw error }
      }
    }
  }

  /// The output of the service since a time, in seconds; nil if it is not available.
  private func wrote(since began: Int) async -> String? {
    let words = ["journalctl", "--user"] + change.journal(since: began)
    guard let run = try? await ServiceCommands.run(words, in: environment), run.status == 0,
      !run.output.isEmpty
    else { return nil }
    return run.output.trimmedEnd
  }
}
