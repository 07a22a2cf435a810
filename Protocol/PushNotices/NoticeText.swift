/// The text of a notice below its title. Bodies reveal nothing about the work unless the user
/// turned details on.
package struct NoticeText: Hashable, Sendable {
  package var body: String
  package var details: String?
  /// Whether the body and the details are complete: nothing was left out, cut or redacted.
  package private(set) var isWhole = false

  /// The event, in the agent's own words if it gave some.
  package enum Event: Hashable, Sendable {
    case approval(tool: String, summary: String, details: String?)
    case question(String, options: [String])
    case taskComplete(summary: String?)
    case taskFailed(error: String?)
    case threadReady(name: String?)
    case messageMerged(text: String)

    package var category: PushNotice.Category {
      switch self {
      case .approval: .approvalRequest
      case .question: .questionAsked
      case .taskComplete: .taskComplete
      case .taskFailed: .taskError
      case .threadReady: .threadReady
      case .messageMerged: .messageMerged
      }
    }
  }

  package static let detailsCharactersMax = 1_000
  /// The body, without details, of a request that a user can answer only at the agent's own prompt.
  package static let atHost = "An agent waits at its own device for an answer."

  /// - Parameter showsDetails: the user's setting; off by default.
  package init(_ event: Event, showsDetails: Bool = false) {
    self = Self.plain(event.category)
    guard showsDetails else { return }
    switch event {
    case .approval(let tool, let summary, let details):
      say(summary.isEmpty ? tool : "\(tool): \(summary)", details: details)
    case .question(let question, let options):
      say(question, details: options.isEmpty ? nil : options.joined(separator: "\n"))
    case .taskComplete(let text), .taskFailed(let text), .threadReady(let text):
      say(text ?? "", details: nil)
    case .messageMerged(let text): say(text, details: nil)
    }
  }

  /// A body that reveals only the category.
  package static func plain(_ category: PushNotice.Category) -> NoticeText {
    switch category {
    case .approvalRequest: NoticeText(body: "An agent needs permission to continue.")
    case .questionAsked: NoticeText(body: "It waits for your answer.")
    case .taskComplete: NoticeText(body: "An agent has finished a task.")
    case .taskError: NoticeText(body: "An agent could not finish a task.")
    case .threadReady: NoticeText(body: "A thread waits for you.")
    case .messageMerged: NoticeText(body: "A message waits until you choose its text.")
    }
  }

  private init(body: String) {
    self.body = body
  }

  private mutating func say(_ text: String, details: String?) {
    let shown = Redaction.shown(text)
    if !shown.isEmpty { body = shown }
    isWhole = body == text
    self.details = details.flatMap { text in
      let shown = Redaction.shown(text, charactersMax: Self.detailsCharactersMax)
      isWhole = isWhole && shown == text
      return shown.isEmpty ? nil : shown
    }
  }
}
