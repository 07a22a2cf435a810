import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// The sizes of the most common deltas. Each includes its replica table.
struct SizeTests {
  private static let session = SessionID.named("api-server")

  /// Real prompts of exactly 100 bytes each.
  private static let prompts = [
    "Please refactor the session parser so that it handles empty lines, and add unit tests for the limits.",
    "The build fails on Linux because the clock is read twice; find the cause and fix it without a sleep.",
    "Write a migration that adds a column for the due date to the tasks table and keeps all existing rows",
    "Look at the retry logic in the upload worker: after three errors it should stop and report a timeout",
    "Explain why the list view scrolls to the top after every update, then make it keep its place instead",
  ].map { String($0.prefix(100)) }

  /// A device with a queue of ten messages of 100 bytes, as the standard limit allows.
  private static func device() throws -> TestDevice {
    var device = TestDevice(
      0x5EED_0123_4567_89AB, now: TestDevice.startOfTime + 25_000_000_000)
    var generator = SeededGenerator(seed: 7)
    for number in 0..<10 {
      try device.perform(
        .send(
          Command.Send(
            session: session, id: id(&generator), text: prompts[number % prompts.count])))
    }
    return device
  }

  private static func id(_ generator: inout SeededGenerator) -> MessageID {
    MessageID(high: generator.next(), low: generator.next())
  }

  private static func size(_ what: String, _ operations: [Operation]) throws -> Int {
    let bytes = PackedDelta.pack(operations)
    #expect(DeltaCodec.encode(try PackedDelta.unpack(bytes)) == DeltaCodec.encode(operations))
    print("size of \(what): \(bytes.count) bytes (\(operations.count) operations)")
    return bytes.count
  }

  @Test func oneTypedCharacterTakesAtMost20Bytes() throws {
    for offset in [0, 50, 100] {
      var device = try SizeTests.device()
      let message = try device.workspace.messageQueue(SizeTests.session).messages[4]
      // Typing sends letters; an edit sends words.
      let outcome = try device.perform(.insertText(message.id, at: offset, text: "x"))
      #expect(outcome.operations.count == 1)
      #expect(try SizeTests.size("one character at \(offset)", outcome.operations) <= 20)
    }
  }

  @Test func oneMoveTakesAtMost24Bytes() throws {
    for (from, to) in [(7, 1), (2, 10), (8, 3), (1, 5)] {
      var device = try SizeTests.device()
      let messages = try device.workspace.messageQueue(SizeTests.session).messages
      let outcome = try device.perform(.move([messages[from].id], to: .position(to)))
      #expect(outcome.operations.count == 1)
      let size = try SizeTests.size("one move from \(from + 1) to \(to)", outcome.operations)
      #expect(size <= 24)
    }
  }

  /// The queue's messages were sent minutes apart, and some of them were moved. The times of their
  /// slots take a small part of the snapshot, compared with the same state with one time for all
  /// slots.
  @Test func timesTakeAtMostASeventhOfASnapshot() throws {
    var device = TestDevice(0x5EED_0123_4567_89AB, queueSizeMax: 300)
    var generator = SeededGenerator(seed: 5)
    var sent: [MessageID] = []
    for number in 0..<200 {
      device.now += Int64(generator.below(600_000))
      let id = SizeTests.id(&generator)
      // The words are in random order, since a user never writes two equal prompts.
      let words = SizeTests.prompts[number % SizeTests.prompts.count].split(separator: " ")
      let prompt = words.shuffled(using: &generator).joined(separator: " ")
      try device.perform(
        .send(Command.Send(session: SizeTests.session, id: id, text: "\(number): \(prompt)")))
      sent.append(id)
      guard generator.chance(25), let moved = generator.pick(sent) else { continue }
      try device.perform(.move([moved], to: .position(1 + generator.below(sent.count))))
    }
    var image = device.workspace.image()
    let size = PackedSnapshot.pack(image).count
    for index in image.threadSlots.indices { image.threadSlots[index].origins.time = 0 }
    for session in image.sessions.indices {
      for slot in image.sessions[session].slots.indices {
        image.sessions[session].slots[slot].origins.time = 0
      }
    }
    let base = PackedSnapshot.pack(image).count
    print("size of a snapshot: \(size) bytes, \(base) without times")
    #expect(Double(size) <= 1.15 * Double(base))
  }

  @Test func oneEnqueueOf100BytesTakesAtMost130Bytes() throws {
    for prompt in SizeTests.prompts {
      var device = try SizeTests.device()
      var generator = SeededGenerator(seed: 99)
      device.queueSizeMax = 100
      #expect(prompt.utf8.count == 100)
      let outcome = try device.perform(
        .send(
          Command.Send(session: SizeTests.session, id: SizeTests.id(&generator), text: prompt)))
      #expect(outcome.operations.count == 3)
      #expect(try SizeTests.size("one enqueue", outcome.operations) <= 130)
    }
  }
}
