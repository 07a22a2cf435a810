import ArgumentParser
import Basics
import CommandArguments
import Foundation
import Operations
import QueueModel
import SyncServer

/// Why a command of the server ended, as text for its operator and for programs.
struct ServerFailure: Encodable {
  private(set) var code: String
  private(set) var message: String
  /// The exit code; 0 for help and the version, which are answers.
  private(set) var exitCode: Int32
  /// The text for people, with the usage if the arguments are wrong. Empty if there is none.
  let text: String

  private enum CodingKeys: String, CodingKey {
    case code, message, exitCode
  }

  init(_ error: any Error) {
    switch error {
    case let fault as ArgumentFault where Self.unknownCommand == nil:
      (code, message, exitCode) = ("usage", fault.message, ExitStatus.usage)
      text = fault.text
    case let error as SyncServerError:
      (code, message, exitCode) = (error.code.rawValue, error.message, error.exitCode)
      // It may name a folder of the data directory, to which another account writes.
      text = "cospool-server: \(ShownName.lines(error.message))"
    case let error as OperationFailure:
      (code, message, exitCode) = (error.code, error.message, error.exitCode)
      text = "cospool-server: \(ShownName.lines(error.message))"
    default:
      let status = CospoolServer.exitCode(for: error)
      let isUsage = status == .validationFailure || error is ArgumentFault
      let unknown = isUsage ? Self.unknownCommand : nil
      message = unknown ?? CospoolServer.message(for: error)
      text =
        unknown.map { "Error: \($0)" }
        ?? HelpText.wrapped(
          CospoolServer.fullMessage(for: error, columns: HelpText.unwrappedColumns),
          width: ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) })
      code = isUsage ? "usage" : "failed"
      exitCode = isUsage ? ExitStatus.usage : status.rawValue
    }
  }

  /// About a first word that is not a command; the parser takes it for an argument of `serve`.
  private static var unknownCommand: String? {
    guard let word = ProcessInfo.processInfo.arguments.dropFirst().first, !word.hasPrefix("-"),
      word != "help"
    else { return nil }
    let known = CospoolServer.configuration.subcommands.map { $0._commandName }
    guard !known.contains(word) else { return nil }
    let close = Similarity.closest(to: word, among: known).map { "'cospool-server \($0)'" }
    return "There is no command 'cospool-server \(word)'."
      + (close.isEmpty ? "" : " Did you mean \(close.joined(separator: " or "))?")
  }

  /// In the same form as the errors of `cospool`; empty if there is nothing to say, as after a
  /// report that lists errors.
  var json: String {
    guard !text.isEmpty else { return "" }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(["error": self])).map { String(decoding: $0, as: UTF8.self) }
      ?? text
  }
}
