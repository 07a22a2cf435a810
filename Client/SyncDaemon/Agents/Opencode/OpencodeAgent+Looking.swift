import AgentFormats
import QueueModel

/// The state of a prompt according to the list of messages: used if its answer was lost, and during
/// the wait for it.
extension OpencodeAgent {
  /// The state of a prompt in the list of messages.
  private enum Look: Sendable {
    case absent
    case atWork
    /// - Parameter isLast: whether no message follows the answer.
    case ended(TurnResult, isLast: Bool)
  }

  private func look(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async throws -> Look {
    let messages = try await within(OpencodeAgent.lookLimit) {
      try await self.messages(of: conversation, turn)
    }
    let prompt = messages.elements.last { message in
      message["info"]?["role"]?.text == "user"
        && Self.id(message).map { !known.contains($0) } ?? false
    }
    guard let id = prompt.flatMap(Self.id) else { return .absent }
    guard let verdict = OpencodeReader.verdict(onPrompt: id, in: messages) else { return .atWork }
    let isLast = messages.elements.last?["info"]?["parentID"]?.text == id
    return .ended(result(verdict, of: turn), isLast: isLast)
  }

  /// The answer was lost: the list of messages shows the state of the prompt.
  func found(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> TurnResult {
    var silent = 0
    while silent < OpencodeAgent.pollsMax, !Task.isCancelled {
      do {
        switch try await look(turn, conversation, known) {
        case .ended(let result, _): return result
        case .absent:
          return .died("the connection to opencode broke, and it does not have the prompt")
        case .atWork: silent = 0
        }
      } catch {
        silent += 1
      }
      // A cancelled sleep ends the loop.
      try? await Task.sleep(for: pollPeriod)
    }
    return .died("opencode no longer answers")
  }

  /// Checks the list from time to time during the wait for an answer.
  ///
  /// - Returns: nil if the turn ended before.
  func watched(
    _ turn: AgentTurn, _ conversation: String, _ known: Set<String>
  ) async -> TurnResult? {
    var silent = 0
    var wasEnded = false
    var period = watchPeriod
    while silent < OpencodeAgent.pollsMax {
      guard (try? await Task.sleep(for: wasEnded ? pollPeriod : period)) != nil else { return nil }
      period = min(period * 2, OpencodeAgent.watchPeriodMax)
      do {
        let look = try await look(turn, conversation, known)
        silent = 0
        guard case .ended(let result, isLast: true) = look else {
          wasEnded = false
          continue
        }
        // Between two rounds of tools, the list looks the same as at the end, and an answer may be
        // on its way.
        if wasEnded { return result }
        wasEnded = true
      } catch HTTPCall.Failure.tooLarge {
        // It answers: now only the turn's own answer reports its end.
        silent = 0
      } catch {
        silent += 1
      }
    }
    return .died("opencode no longer answers")
  }

  func result(_ verdict: AgentVerdict, of turn: AgentTurn) -> TurnResult {
    switch verdict {
    case .succeeded(let summary): .succeeded(summary: summary)
    case .failed(let reason): .failed(reason)
    case .tryLater(let reason, let until):
      .tryingLater(until: until, reason: reason, attempt: turn.attempt)
    }
  }
}
