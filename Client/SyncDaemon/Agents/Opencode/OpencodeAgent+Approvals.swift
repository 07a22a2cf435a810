import AgentFormats
import Foundation
import NIOHTTP1
import QueueModel
import SyncClient

/// Permission requests of opencode, shown on all devices: the first answer is sent to opencode by
/// HTTP. Without one, opencode keeps waiting for an answer at its own prompt.
extension OpencodeAgent {
  /// Asks users; nil if they cannot be asked.
  typealias Asker = @Sendable (AgentAsk, SessionID) async -> AskAnswer?

  /// Passes requests on until the stream ends, several at a time.
  func passOn(
    _ events: AsyncStream<AgentEvent>, of turn: AgentTurn, in conversation: String
  ) async {
    await withTaskGroup(of: Void.self) { group in
      var open: [String: AsyncStream<Void>.Continuation] = [:]
      for await event in events {
        switch event {
        case .approvalRequested(let id, let tool, let input, let owner):
          let (ends, end) = AsyncStream<Void>.makeStream()
          open[id] = end
          let wanted = AgentAsk.approval(ofTool: tool, input ?? .object([:]))
          group.addTask {
            await decide(id, wanted, of: turn, in: owner ?? conversation, until: ends)
          }
        case .approvalAnswered(let id):
          // Answered at opencode itself, or by the answer sent from here.
          open.removeValue(forKey: id)?.finish()
        default:
          break
        }
      }
      group.cancelAll()
    }
  }

  private func decide(
    _ id: String, _ wanted: AgentAsk, of turn: AgentTurn, in conversation: String,
    until ends: AsyncStream<Void>
  ) async {
    guard let ask else { return }
    let answer = await withTaskGroup(of: AskAnswer?.self) { group in
      group.addTask { await ask(wanted, turn.session) }
      group.addTask {
        for await _ in ends {}
        return nil
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
    let response: JSONTree
    switch answer?.ending {
    case .allowed: response = "once"
    case .denied: response = "reject"
    default: return
    }
    // As for conversations, a name that is not one of its ids is not sent.
    guard
      (id + conversation).allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    else { return }
    let path = "/session/\(conversation)/permissions/\(id)"
    // If it cannot be reached, it keeps asking at its own prompt.
    let body = JSONTree.object(["response": response]).line
    _ = try? await call(.POST, path, body, of: turn).answer()
  }
}
