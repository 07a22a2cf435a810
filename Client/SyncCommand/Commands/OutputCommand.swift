import ArgumentParser
import Basics
import LocalAPI
import QueueModel

/// `cospool output`
struct OutputCommand: SessionNaming {
  static let configuration = CommandConfiguration(
    commandName: "output",
    abstract: "Show what an agent wrote, whichever device it ran on.",
    discussion: """
      EXAMPLES
        cospool output review       the message that runs in a session, or ran last
        cospool output 3f2a         one message, by its id or the beginning of it
        cospool output -f review    its end, and what follows, until the agent ends

      The device that ran the message keeps the last MiB of each attempt. If that is another
      device, it has to be connected. Exit code 4 if it is away.
      """)
  @Argument(
    help: ArgumentHelp(
      "A session or a message. Default: as for --session of other commands.", valueName: "name"),
    completion: .sessions)
  var name: String?
  @Flag(name: [.customShort("f"), .customLong("follow")], help: "Follow it until the agent ends.")
  var follows = false
  @Option(help: ArgumentHelp("The number of the attempt. Default: the latest.", valueName: "n"))
  var attempt: Int?
  @OptionGroup var options: GlobalOptions

  /// The path of what the name means.
  private var subject: [String] = []

  /// How much of the end is shown before what follows, in bytes.
  private static let tailBytes = 16_384
  /// How long the daemon waits for new text, in seconds.
  private static let waitSeconds = 20

  /// Refusals that pass by themselves, and for how long a reader to whom the output was shown waits
  /// until they do: the server restarts, and this device may be back before the other one.
  private static let passing = ["unreachable", "busy", "hostAway", "noAnswer"]
  private static let outageMax = Duration.seconds(60)

  private enum CodingKeys: CodingKey { case name, follows, attempt, options }

  mutating func lookUp(in names: SessionNames) throws {
    guard let name else { return subject = ["sessions", try names.id(ofOption: nil)] }
    switch names.match(name) {
    case .one(let session): subject = ["sessions", session.id.rawValue]
    case .none: subject = ["messages", name]
    case .several(let sessions): throw names.ambiguous(name, sessions)
    }
  }

  func request(input: StandardInput) throws -> APIRequest { request() }

  private func request(
    attempt: Int? = nil, from: Int? = nil, tail: Int? = nil, wait: Int? = nil
  ) -> APIRequest {
    let fields = [
      ("attempt", attempt ?? self.attempt), ("from", from), ("tail", tail), ("wait", wait),
    ]
    return APIRequest(.get, subject + ["output"], query: fields.map { ($0, $1.map(String.init)) })
  }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    let text = TextStyle.block(try answer.decoded(OutputAnswer.self).text)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  func warning(of answer: Answer) -> String? {
    guard (try? answer.decoded(OutputAnswer.self))?.truncated == true else { return nil }
    return "cospool: its beginning is not kept"
  }

  /// Shows the end and what follows, until the agent ends, or the reader.
  mutating func follow(
    over connection: DaemonConnection, _ surroundings: WatchSurroundings
  ) async throws {
    var next = request(tail: Self.tailBytes)
    var deadline = ContinuousClock.now
    while true {
      let answer: Answer
      do {
        answer = try await connection.answer(to: next)
      } catch let failure as CommandFailure
        where .now < deadline && Self.passing.contains(failure.code)
      {
        try await Task.sleep(for: .seconds(1))
        continue
      }
      deadline = .now + Self.outageMax
      let part = try answer.decoded(OutputAnswer.self)
      let shown =
        options.json
        ? surroundings.style().document(answer.json) + "\n" : TextStyle.block(part.text)
      if options.json || !part.text.isEmpty {
        guard surroundings.write(shown) else { return }
      }
      guard part.running || !part.text.isEmpty else { return }
      subject = ["messages", part.message.description]
      next = request(attempt: part.attempt, from: part.next, wait: Self.waitSeconds)
    }
  }
}
