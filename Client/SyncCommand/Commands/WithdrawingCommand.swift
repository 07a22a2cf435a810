import Basics
import LocalAPI
import QueueModel

/// A command that withdraws messages: the authority says of each whether that was in time.
protocol WithdrawingCommand: DaemonCommand {
  /// The session whose messages are withdrawn, all of them; nil if they are named one by one.
  var clearedSession: String? { get }
}

extension WithdrawingCommand {
  func text(of answer: Answer, style: TextStyle) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    guard receipt.result == .affected, let outcomes = receipt.outcomes else {
      return try ReceiptText.text(
        of: answer, done: "cancelled", item: "message")
    }
    let inTime = Set(outcomes.filter { $0.outcome == "cancelled" }.map(\.id))
    guard !inTime.isEmpty else { return "" }
    if let messages = receipt.messages, clearedSession == nil {
      return "cancelled " + ReceiptText.named(messages.filter { inTime.contains($0.id) })
    }
    let count = ReceiptText.counted(min(inTime.count, receipt.count ?? inTime.count), "message")
    return "cancelled " + count + (clearedSession.map { " in " + TextStyle.line($0) } ?? "")
  }

  func warning(of answer: Answer) -> String? {
    let receipt = try? answer.decoded(ReceiptAnswer.self)
    let lines = outcomes(of: answer).compactMap { outcome -> String? in
      let message = receipt?.messages?.first { $0.id == outcome.id }
      let named = message.map { ReceiptText.named([$0]) } ?? outcome.id.description
      return switch outcome.outcome {
      case "invoked": "cospool: too late for \(named): its agent has it already."
      case "unconfirmed":
        "cospool: not confirmed for \(named) by the server (cospool status). It is cancelled "
          + "unless its agent started meanwhile."
      default: nil
      }
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  func exitCode(of answer: Answer) -> Int32 {
    outcomes(of: answer).contains { $0.outcome == "invoked" } ? ExitStatus.conflict : 0
  }

  private func outcomes(of answer: Answer) -> [ReceiptAnswer.Outcome] {
    (try? answer.decoded(ReceiptAnswer.self))?.outcomes ?? []
  }
}
