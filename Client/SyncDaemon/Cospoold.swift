import ArgumentParser
import Basics
import CommandArguments
import Foundation
import Logging
import Observability
import ProcessResources
import SyncClient
import Systemd

/// The entry point: arguments and environment in, exit code out.
@main
struct Cospoold {
  static func main() async {
    let notifier = ServiceNotifier.taken()
    let passedSockets = PassedSockets.taken()
    let environment = ProcessInfo.processInfo.environment
    DispatchLog.silence()
    let options: DaemonOptions
    switch parse(Array(CommandLine.arguments.dropFirst())) {
    case .run(let parsed): options = parsed
    case .stop(let message, let code):
      write(message, to: code == 0 ? .standardOutput : .standardError)
      exit(code)
    }
    // Socket, store and credentials are for their owner only. The files that agents create in a
    // project are not the daemon's: they get the mask with which it was started.
    let inheritedMask = umask(0o077)
    Heap.limitArenas()
    // The program that started the daemon may have set this signal to be ignored, which survives
    // exec. Then the system would collect the ends of agents, and the daemon would not learn of
    // them.
    signal(SIGCHLD, SIG_DFL)
    // Each agent takes about eight descriptors, and hundreds of sessions may run at once. An agent
    // without descriptors can neither be awaited nor stopped.
    DescriptorLimit.raise(to: 16_384)
    options.logFormat.bootstrap()
    guard
      let directory = DataPath.device.resolve(option: options.data, environment: environment)
    else {
      write(
        "cospoold: HOME is not set, so there is no default data directory. Pass --data DIR.",
        to: .standardError)
      exit(ExitStatus.usage)
    }
    if options.checksStore { exit(checkStore(directory)) }
    do {
      let settings = try SettingsStore(
        flags: options.flags, environment: environment, dataDirectory: directory)
      if options.checksSettings { exit(check(settings)) }
      var logger = Logger(label: "cospoold")
      logger.logLevel = settings.logLevel
      let daemon = Daemon(
        dataDirectory: directory, settings: settings, environment: environment, logger: logger,
        notifier: notifier, passedSockets: passedSockets,
        // As `cospool init` does; only the library has the thread queue off.
        firstSettings: [.queueEnabled: .flag(true)],
        ready: { [logger] path in
          // All files from here on have an explicit mode, or are in a private folder.
          umask(inheritedMask)
          write("ready on \(path)", to: .standardOutput)
          logger.info("version \(Version.number), data in \(directory)")
          notifier?.send("READY=1\nSTATUS=answers on \(path)")
        })
      let end = try await daemon.run(
        stop: await StopSignals.stream(), whenIdle: await StopSignals.stream(of: [SIGUSR1]))
      exit(end == .idle ? ExitStatus.tryLater : 0)
    } catch let fault as SettingFault {
      write("cospoold: \(fault)", to: .standardError)
      exit(ExitStatus.usage)
    } catch let failure as DaemonFailure {
      write("cospoold: \(failure.message)", to: .standardError)
      exit(failure.exitCode)
    } catch {
      write("cospoold: \(error)", to: .standardError)
      exit(ExitStatus.failed)
    }
  }

  /// Reports that the settings are valid; a fault would have been thrown before.
  private static func check(_ settings: SettingsStore) -> Int32 {
    write("the settings are valid; \(settings.file.path)", to: .standardOutput)
    return 0
  }

  private static func checkStore(_ directory: String) -> Int32 {
    do {
      try QueueClient.checkStore(dataDirectory: directory)
      let isThere = FileManager.default.fileExists(atPath: directory + "/cospool.sqlite")
      write(
        "\(isThere ? "the store is sound" : "there is no store yet"); \(directory)",
        to: .standardOutput)
      return 0
    } catch .corruptStore(let path, _) {
      write(
        "cospoold: \(path) is damaged. The next start sets it aside; the one after that "
          + "begins with the server's data.", to: .standardError)
      return ExitStatus.corrupt
    } catch {
      write("cospoold: \(error)", to: .standardError)
      return error.exitCode
    }
  }

  enum Start {
    case run(DaemonOptions)
    case stop(message: String, exitCode: Int32)
  }

  static func parse(_ arguments: [String]) -> Start {
    do {
      let reading = try ArgumentReader(DaemonOptions.self).read(arguments)
      return .run(try DaemonOptions.parse(reading.arguments))
    } catch let fault as ArgumentFault {
      return .stop(message: fault.text, exitCode: ExitStatus.usage)
    } catch {
      let isHelp = DaemonOptions.exitCode(for: error) == .success
      let message = HelpText.wrapped(
        DaemonOptions.fullMessage(for: error, columns: HelpText.unwrappedColumns),
        width: ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) })
      return .stop(message: message, exitCode: isHelp ? 0 : ExitStatus.usage)
    }
  }

  private static func write(_ line: String, to file: FileHandle) {
    // The reader may have closed the pipe; that is not a failure.
    try? file.write(contentsOf: Data((line + "\n").utf8))
  }
}
