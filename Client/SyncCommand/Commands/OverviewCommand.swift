import ArgumentParser
import LocalAPI

/// `cospool overview`, and `cospool` alone.
struct OverviewCommand: WatchableCommand {
  static let configuration = CommandConfiguration(
    commandName: "overview",
    abstract: "Everything at a glance: what needs you, what runs where, what waits.",
    discussion: """
      EXAMPLES
        cospool
        cospool --watch
        cospool overview --json | jq '.sessions[] | select(.standing == "asks")'

      First what needs you: requests, and queues that stand still. Then the other sessions, with the
      device that runs each, and the devices that are away.
      """)
  @OptionGroup var watch: WatchOption
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["overview"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    OverviewText.text(of: try answer.decoded(OverviewAnswer.self), style: style)
  }
}
