import Basics
import LocalAPI

/// A command that withdraws messages: the authority says of each whether that was in time.
protocol WithdrawingCommand: DaemonCommand {}

extension WithdrawingCommand {
  func text(of answer: Answer, style: TextStyle) throws -> String {
    let receipt = try answer.decoded(ReceiptAnswer.self)
    guard receipt.result == .affected, let outcomes = receipt.outcomes else {
      return try ReceiptText.text(of: answer, done: "cancelled", item: "message")
    }
    let inTime = outcomes.count { $0.outcome == "cancelled" }
    guard inTime > 0 else { return "" }
    return "cancelled " + ReceiptText.counted(min(inTime, receipt.count ?? inTime), "message")
  }

  func warning(of answer: Answer) -> String? {
    let lines = outcomes(of: answer).compactMap { outcome -> String? in
      switch outcome.outcome {
      case "invoked": "cospool: too late for \(outcome.id): its agent has it already."
      case "unconfirmed":
        "cospool: not confirmed for \(outcome.id): the server did not say. It is cancelled "
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
