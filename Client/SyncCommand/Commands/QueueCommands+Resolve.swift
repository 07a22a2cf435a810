import ArgumentParser
import Basics
import LocalAPI
import QueueModel

extension QueueCommands {
  struct Resolve: DaemonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Choose the text of a message that was edited in two places.",
      discussion: """
        EXAMPLES
          cospool queue show 3f2a
          cospool queue resolve 3f2a --take 1
          cospool queue resolve 3f2a --take merged

        Edits of one message that did not know of each other are merged by words. The message does not
        start until somebody has looked at it: take one of its versions, which cospool queue show
        numbers, take the merged text, or edit the message. cospool undo takes a choice back.
        """)
    @Argument(help: ArgumentHelp("The message.", valueName: "id"), completion: .messages)
    var message: String
    @Option(
      help: ArgumentHelp("The number of a version, or merged.", valueName: "version"),
      completion: .list(["1", "2", "merged"]))
    var take: String?
    @OptionGroup var options: GlobalOptions

    func validate() throws {
      guard let take else {
        throw ValidationError(
          "Give --take with a number or merged. To see the versions: cospool queue show "
            + Shell.quoted(message))
      }
      guard VersionChoice(take) != nil else {
        throw ValidationError("--take \(take): choose the number of a version, or merged.")
      }
    }

    func request(input: StandardInput) throws -> APIRequest {
      try APIRequest(
        .post, ["messages", message, "resolve"], body: ResolveRequest(take: take ?? "merged"))
    }

    func text(of answer: Answer, style: TextStyle) throws -> String {
      try ReceiptText.text(of: answer, done: "resolved")
    }
  }
}
