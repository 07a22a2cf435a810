import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport

/// Joins two states of 20,000 prompts, with 5 MB of text each.
enum JoinSuite {
  private static let sessions = 50
  private static let messages = 20_000
  private static let textBytes = 250
  private static let name = "workspace/20k-prompts/join"

  static func measure(runs: Int) throws -> [Result] {
    let past = try Author(1, knowing: []).sending(messages, from: 0)
    let ofBoth = { (body: (inout Author) throws -> Void) in
      try [UInt64(2), 3].map { number in
        var author = try Author(number, knowing: past.device.made)
        try body(&author)
        return author.device
      }
    }
    let apart = try Author(4, knowing: []).sending(messages, from: messages)
    let cases = [
      ("common-past", try ofBoth { try $0.work(commands: 1_000) }),
      ("every-text-edited", try ofBoth { try $0.editAll() }),
      ("nothing-common", [past.device, apart.device]),
    ]
    return try cases.map { name, devices in
      try measure("\(JoinSuite.name)/\(name)", devices, runs: runs)
    }
  }

  private static func measure(
    _ name: String, _ devices: [TestDevice], runs: Int
  ) throws -> Result {
    var merged = devices[0]
    try merged.merge(devices[1].made)
    let expected = merged.workspace.image()
    let images = devices.map { $0.workspace.image() }
    return try Stopwatch.median(name, runs: runs) {
      try images[0].joined(with: images[1])
    } check: { joined in
      try BenchFailure.require(joined == expected, "\(name): not the state of the union")
    }
  }

  /// A device that sends and edits.
  private struct Author {
    var device: TestDevice
    private var generator: SeededGenerator
    private let writer = PromptWriter()

    init(_ number: UInt64, knowing operations: [Operation]) throws {
      device = TestDevice(number, queueSizeMax: Limits.queueSizeRange.upperBound)
      generator = SeededGenerator(seed: number)
      try device.merge(operations)
    }

    func sending(_ count: Int, from first: Int) throws -> Author {
      var author = self
      for number in first..<first + count { try author.send(UInt64(number)) }
      return author
    }

    private mutating func send(_ number: UInt64) throws {
      var text = ""
      while text.utf8.count < textBytes { text += writer.prompt(using: &generator) + " " }
      try device.perform(
        .send(
          String(text.prefix(textBytes)), as: number, in: "session-\(number % UInt64(sessions))"))
    }

    /// Users' commands on their queues; half of them are new prompts.
    mutating func work(commands: Int) throws {
      for number in 0..<commands {
        let message = MessageID.numbered(UInt64(generator.below(messages)))
        // For a cancelled message, all three are refused.
        switch number % 6 {
        case 0: _ = try? device.perform(.insertText(message, at: 100, text: " at once"))
        case 1: _ = try? device.perform(.cancel([message]))
        case 2: _ = try? device.perform(.move([message], to: .position(1)))
        default: try send(device.replica.rawValue * 100_000 + UInt64(number))
        }
      }
    }

    mutating func editAll() throws {
      for number in 0..<messages {
        let message = MessageID.numbered(UInt64(number))
        let place = Int(device.replica.rawValue) * 50
        try device.perform(.insertText(message, at: place, text: " at once"))
        try device.perform(.deleteText(message, place - 20..<place))
      }
    }
  }
}
