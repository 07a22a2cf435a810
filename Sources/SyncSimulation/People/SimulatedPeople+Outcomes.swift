package import ClientCore
import QueueModel
import QueueOracle
package import SequenceCRDT
import WireProtocol

/// A withdrawal or an edit, and the question whether it was in time.
package struct AskedRace: Sendable {
  package var race: StartRace
  /// The operations that it made.
  package var made: [OperationRange]
  /// How many times the server's store had gone back in time when it was asked.
  package var serverRestores: Int
}

/// Users who withdraw or edit a message that is about to start, and learn whether they were in
/// time, as with the library's `cancel` and `edit`.
extension SimulatedPeople {
  func askForOutcomes(
    of command: Command, from before: Workspace, _ outcome: CommandOutcome,
    on device: SimulatedDevice
  ) {
    guard options.asksOutcomes, let after = device.process?.core.replica.workspace else { return }
    let races: [StartRace]
    switch command {
    case .cancel(let messages):
      // A completed message cannot be withdrawn.
      let withdrawn = messages.filter { (try? after.message($0))?.status != .succeeded }
      races = withdrawn.map { StartRace(withdrawing: $0, in: before) }
    case .edit(let message, _, _):
      races = [StartRace(editing: message, from: before, to: after)]
    default:
      return
    }
    let life = device.life
    for race in races where device.life == life {
      let asked = AskedRace(
        race: race, made: outcome.operations.compactMap(\.range),
        serverRestores: simulation.server.disk.restores)
      ask(asked, on: device)
    }
  }

  private func ask(_ asked: AskedRace, on device: SimulatedDevice) {
    let question = device.generator.next()
    device.process?.races[question] = asked
    let isAsked = simulation.clients.run(on: device) { core, context, store in
      let actions = try? core.questionAsked(
        .outcome(asked.race.message), id: question, at: context, store: store)
      return (actions != nil, actions ?? [])
    }
    if isAsked == false { tell(.unavailable, to: question, on: device) }
  }

  func tell(_ answer: AuthorityAnswer, to question: UInt64, on device: SimulatedDevice) {
    guard let asked = device.process?.races.removeValue(forKey: question) else { return }
    let ending = asked.race.ending(answer)
    results.log("device \(device.index): the change of \(asked.race.message) is \(ending)")
    switch ending {
    case .inTime: results.execution.inTime += 1
    case .tooLate: results.execution.tooLate += 1
    case .unconfirmed: break
    }
    simulation.note(.raceEnded(device: device.index, asked, ending))
  }

  /// A planted bug: unless the server reports a granted attempt, any answer counts as consent. This
  /// holds even if the server has not stored the change in question.
  func takeForConsent(_ response: Response, on device: SimulatedDevice) {
    guard options.planted.contains(.silenceIsConsent),
      let asked = device.process?.races[response.id]
    else { return }
    var answer = AuthorityAnswer.outcome(attempt: asked.race.knownAttempt, token: 0, content: 0)
    if let said = try? AuthorityAnswer(response, to: .outcome(asked.race.message)),
      case .outcome = said
    {
      answer = said
    }
    tell(answer, to: response.id, on: device)
  }
}
