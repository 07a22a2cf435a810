import AgentFormats
import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool ask`
struct AskCommand: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask",
    abstract: "Ask the session's person, on all devices; for agents that are scripts.",
    discussion: """
      EXAMPLES
        cospool ask --leave "git push" && git push
        branch=$(cospool ask "Which branch?" --option main --option next)
        cospool ask -s review --patience 3600 "Merge it?"

      It waits for the answer and writes it. Leave: exit code 0 where it is given, 1 where it is
      denied, with the remark on stderr. A question: its answer, or exit code 1 where it was
      cancelled, which also stops the turn. Without an answer in time the exit code is 75.
      """)
  @OptionGroup var session: SessionOption
  @Argument(help: "What is asked, or what leave is asked for.") var text: String
  @Flag(help: "Ask for leave, which is allowed or denied, instead of a text.") var leave = false
  @Option(help: ArgumentHelp("A text to choose; may be repeated.", valueName: "text"))
  var option: [String] = []
  @Option(
    help: ArgumentHelp(
      "How long it waits, at most 3600; default: the setting approvalPatience.",
      valueName: "seconds"))
  var patience: Double?
  @OptionGroup var options: GlobalOptions

  func validate() throws {
    if leave, !option.isEmpty { throw ValidationError("Leave has no --option: it is yes or no.") }
    if option.count > Limits.taskOptionsMax {
      throw ValidationError("Give at most \(Limits.taskOptionsMax) options.")
    }
    if text.isEmpty { throw ValidationError("What is asked is empty.") }
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
    case .expired: "cospool: nobody answered in time."
    case .withdrawn: "cospool: it was withdrawn before anybody answered."
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
