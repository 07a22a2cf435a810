import AgentFormats
import QueueModel

/// What became of a prompt, as the list of messages says: where its answer was lost, and beside the
/// wait for it.
extension OpencodeAgent {
  /// What the list of messages says of a prompt.
  private enum Look: Sendable {
    case absent
    case atWork
    /// - Parameter isLast: whether nothing follows on the answer.
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

  /// The answer was lost: the list of messages tells what became of the prompt.
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
    return .died("opencode does not answer any more")
  }

  /// Looks now and then while an answer is waited for.
  ///
  /// - Returns: nil where the turn was over before.
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
        // Between two rounds of tools it looks as at the end; and an answer may be on its way.
        if wasEnded { return result }
        wasEnded = true
      } catch HTTPCall.Failure.tooLarge {
        // It answers: only the wait for the turn's own answer tells its end now.
        silent = 0
      } catch {
        silent += 1
      }
    }
    return .died("opencode does not answer any more")
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
