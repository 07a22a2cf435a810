import ArgumentParser
import LocalAPI

/// `cospool overview`, and `cospool` alone.
struct OverviewCommand: WatchableCommand {
  static let configuration = CommandConfiguration(
    commandName: "overview",
    abstract: "Show everything at a glance: what needs you, runs or waits.",
    discussion: """
      EXAMPLES
        cospool
        cospool --watch
        cospool overview --json | jq '.sessions[] | select(.standing == "asks")'

      What needs you comes first: requests and stopped queues. The other sessions follow, with the
      device that runs each, then the devices that are away.
      """)
  @OptionGroup var watch: WatchOption
  @OptionGroup var options: GlobalOptions

  func request(input: StandardInput) throws -> APIRequest { APIRequest(.get, ["overview"]) }

  func text(of answer: Answer, style: TextStyle) throws -> String {
    OverviewText.text(of: try answer.decoded(OverviewAnswer.self), style: style)
  }
}
