package import QueueModel
import SequenceCRDT

/// All actions that two devices may perform at the same time, in every pair, on one small state.
///
/// A test sets up a workspace with `setup`, and lets two or more authors act independently. It
/// delivers their operations in every order, and compares the result with the oracle and, if the
/// contract names one, with `Pair.facts`.
package enum PairMatrix {
  /// An author; each has its own ids and texts. The author with the higher number has the later
  /// clock.
  package struct Author: Hashable, Sendable {
    /// 0 for the first.
    package var number: Int

    package init(number: Int) {
      self.number = number
    }

    /// A message id for one use of this author, distinct from all others.
    package func message(_ use: Int) -> MessageID {
      PairMatrix.message(UInt64(100 + 10 * number + use))
    }
  }

  /// An action of a user: the commands for a workspace in the state of `setup`.
  package struct Action: Sendable {
    package var name: String
    package var commands: @Sendable (Workspace, Author) -> [Command]

    package init(
      _ name: String, _ commands: @escaping @Sendable (Workspace, Author) -> [Command]
    ) {
      self.name = name
      self.commands = commands
    }
  }

  /// Two actions at the same time, the second with the later clock.
  package struct Pair: Sendable {
    package var first: Action
    package var second: Action

    package var name: String { "\(first.name) ∥ \(second.name)" }

    /// The result that the contract's conflict table names; empty if it names none.
    package var facts: [Fact] { PairMatrix.facts(of: first.name, second.name) }
  }

  /// A message of the matrix by its number.
  package static func message(_ number: UInt64) -> MessageID {
    MessageID(high: 0x4000, low: number)
  }

  /// Every ordered pair; each action is also paired with itself.
  package static var pairs: [Pair] {
    actions.flatMap { first in actions.map { Pair(first: first, second: $0) } }
  }

  /// The sessions by name; the names are valid by construction.
  static func session(_ name: String) -> SessionID {
    do {
      return try SessionID(name)
    } catch {
      preconditionFailure("\(name) is a session id: \(error)")
    }
  }

  /// Session `s` with messages 1 to 4 and the cancelled 6; the paused session `t` with message 5;
  /// and session `u` with message 7, which has a file. The thread queue contains `t`, `s`, `u`.
  package static let setup: [Command] = [
    send("one and only", 1), send("two", 2), send("three", 3), send("four", 4),
    send("five", 5, in: "t"), send("six", 6), .cancel([message(6)]),
    .pause(session("t"), reason: "a look first"), send("seven", 7, in: "u"),
    .attach(message(7), files(9)),
  ]

  static func send(_ text: String, _ number: UInt64, in name: String = "s") -> Command {
    .send(Command.Send(session: session(name), id: message(number), text: text))
  }
}
