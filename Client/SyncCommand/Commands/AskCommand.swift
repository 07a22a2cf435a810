import AgentFormats
import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool ask`
struct AskCommand: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask",
    abstract:
      "Ask you for an answer or an approval, on all your devices; for agents that are scripts.",
    discussion: """
      EXAMPLES
        cospool ask --leave "git push" && git push
        branch=$(cospool ask "Which branch?" --option main --option next)
        cospool ask -s review --patience 3600 "Merge it?"

      It waits for the answer and prints it. With --leave the exit code is 0 if
      you approve, and 1 if you deny; your remark is on stderr. A question prints your answer. If
      you cancel it, the exit code is 1, and the turn stops. Exit code 75: no answer in time.
      """)
  @OptionGroup var session: SessionOption
  @Argument(help: "The question, or what needs approval.") var text: String
  @Flag(help: "Ask for approval (yes or no) instead of a text.") var leave = false
  @Option(help: ArgumentHelp("An answer to choose from; may be repeated.", valueName: "text"))
  var option: [String] = []
  @Option(
    help: ArgumentHelp(
      "How long to wait, at most 3600. Default: the setting approvalPatience.",
      valueName: "seconds"))
  var patience: Double?
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    if leave, !option.isEmpty {
      throw ValidationError("--leave takes no --option: the answer is yes or no.")
    }
    if option.count > Limits.taskOptionsMax {
      throw ValidationError("Give at most \(Limits.taskOptionsMax) options.")
    }
    if text.isEmpty { throw ValidationError("The question is empty. Give its text.") }
  }

  func request(input: StandardInput) throws -> APIRequest {
    var body = AskRequest(kind: leave ? "approval" : "question")
    if leave {
      body.toolName = "Command"
      body.input = JSONTree.object(["command": .string(text)]).line
    } else {
      body.question = text
      body.options = option.isEmpty ? nil : option
    }
    body.patienceSeconds = patience
    var request = try APIRequest(.post, ["sessions", session.id, "asks"], body: body)
    request.timeoutSeconds =
      (patience ?? Double(AskRequest.patienceSecondsMax)) + HookApproval.closingSeconds
    return request
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let decision = try answer.decoded(DecisionAnswer.self)
    return decision.ending == .answered ? TextStyle.block(decision.text ?? "") : ""
  }

  func warning(of answer: Answer) -> String? {
    guard let decision = try? answer.decoded(DecisionAnswer.self) else { return nil }
    let person = decision.deviceName.map { " at \(TextStyle.line($0))" } ?? ""
    let remark = decision.text.map { ": \(TextStyle.block($0))" } ?? ""
    return switch decision.ending {
    case .allowed, .answered: nil
    case .denied: "cospool: denied\(person)\(remark)"
    case .cancelled: "cospool: cancelled\(person): stop here."
    case .expired: "cospool: no answer came in time."
    case .withdrawn: "cospool: the request was withdrawn before it was answered."
    }
  }

  func exitCode(of answer: Answer) -> Int32 {
    switch (try? answer.decoded(DecisionAnswer.self))?.ending {
    case .allowed?, .answered?: 0
    case .expired?: ExitStatus.tryLater
    default: ExitStatus.failed
    }
  }
}
