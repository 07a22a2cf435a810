import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

struct RoundTripTests {
  private func check(_ operations: [Operation], _ comment: Comment) throws {
    let bytes = DeltaCodec.encode(operations)
    let decoded = try DeltaCodec.decode(bytes)
    #expect(Unit.units(of: decoded) == Unit.units(of: operations), comment)
    #expect(DeltaCodec.encode(decoded) == bytes, comment)
  }

  @Test func nothingIsOneByte() throws {
    #expect(DeltaCodec.encode([]) == [0])
    #expect(try DeltaCodec.decode([0]) == [])
  }

  @Test(arguments: TestSeeds.list(standard: 400))
  func anyOperationsComeBackUnitForUnit(seed: UInt64) throws {
    var random = RandomOperations(seed: seed, replicaCount: 1 + Int(seed % 4))
    let count = [1, 2, 5, 23, 24, 25, 60, 200][Int(seed / 4 % 8)]
    try check(random.operations(count), "COSPOOL_SEED=\(seed)")
  }

  @Test(arguments: TestSeeds.list(standard: 6))
  func commandsOfThreeDevicesComeBackUnitForUnit(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var commands = CommandGenerator()
    var devices = (1...3).map { TestDevice($0) }
    var editors: [CommandGenerator.OpenEditors] = [[:], [:], [:]]
    var operations: [Operation] = devices.flatMap(\.made)
    for device in devices.indices { try devices[device].merge(operations) }
    for _ in 0..<120 {
      let index = generator.below(3)
      let command = commands.command(
        for: devices[index].workspace, editors: &editors[index], using: &generator)
      guard let outcome = try? devices[index].perform(command) else { continue }
      operations += outcome.operations
      try check(outcome.operations, "COSPOOL_SEED=\(seed)")
      for other in devices.indices where other != index {
        try devices[other].merge(DeltaCodec.decode(DeltaCodec.encode(outcome.operations)))
      }
    }
    try check(operations, "COSPOOL_SEED=\(seed)")
    let image = devices[0].workspace.image()
    #expect(devices[1].workspace.image() == image, "COSPOOL_SEED=\(seed)")
    let bytes = SnapshotCodec.encode(image)
    #expect(SnapshotCodec.encode(devices[1].workspace.image()) == bytes, "COSPOOL_SEED=\(seed)")
    let decoded = try SnapshotCodec.decode(bytes)
    #expect(decoded == image, "COSPOOL_SEED=\(seed)")
    #expect(SnapshotCodec.encode(decoded) == bytes, "COSPOOL_SEED=\(seed)")
    #expect(try Workspace(image: decoded).image() == image, "COSPOOL_SEED=\(seed)")
  }

  /// Times take no bytes as long as no stamp is ahead of the clock.
  @Test func timesTakeNoBytesAsARule() throws {
    var device = TestDevice(1)
    let sent = try device.perform(.send("text", as: 1, in: "s")).operations
    let late = sent.map { operation in
      Operation(
        id: operation.id, body: operation.body.made(at: (operation.origins?.time ?? 0) - 5))
    }
    #expect(sent.contains { $0.origins != nil })
    #expect(!DeltaCodec.encode(sent).contains(0x0F))
    // A row's head and the difference, once for the message and its thread together.
    #expect(DeltaCodec.encode(late).count == DeltaCodec.encode(sent).count + 2)
    try check(late, "late")
  }

  /// A snapshot keeps every time that a clock can show, and refuses any other.
  @Test func aSnapshotKeepsTimes() throws {
    var device = TestDevice(1)
    try device.perform(.send("text", as: 1, in: "s"))
    try device.perform(.send("text", as: 2, in: "s"))
    try device.perform(.move([.numbered(2)], to: .position(1)))
    func isRead(_ change: (inout WorkspaceImage) -> Void) throws -> Bool {
      var image = device.workspace.image()
      change(&image)
      guard let decoded = try? SnapshotCodec.decode(SnapshotCodec.encode(image)) else {
        return false
      }
      return decoded == image
    }
    for time in [0, 1, Stamp.millisecondsMax, -1, Stamp.millisecondsMax + 1, .min, .max] {
      let isTime = (0...Stamp.millisecondsMax).contains(time)
      #expect(try isRead { $0.threadSlots[0].origins.time = time } == isTime, "\(time)")
      for index in device.workspace.image().sessions[0].slots.indices {
        #expect(
          try isRead { $0.sessions[0].slots[index].origins.time = time } == isTime, "\(time)")
      }
    }
  }

  @Test func typedCharactersBecomeOneRow() throws {
    let replica = ReplicaID(rawValue: 1)
    let message = OperationID(replica: replica, seq: 3)
    let typed = (0..<40).map { offset in
      let id = OperationID(replica: replica, seq: UInt32(10 + offset))
      return Operation(
        id: id,
        body: .insertText(
          Operation.InsertText(
            message: message, origins: .init(left: id.advanced(by: -1), right: nil), text: "x")))
    }
    let decoded = try DeltaCodec.decode(DeltaCodec.encode(typed))
    #expect(decoded.count == 1)
    #expect(Unit.units(of: decoded) == Unit.units(of: typed))
  }

  @Test(arguments: [true, false])
  func deletionsInOneDirectionBecomeOneRow(backwards: Bool) throws {
    let replica = ReplicaID(rawValue: 1)
    let message = OperationID(replica: replica, seq: 3)
    var typed: [Operation] = []
    for offset: UInt32 in 0..<40 {
      let first = OperationID(replica: replica, seq: backwards ? 300 - offset : 300 + offset)
      let deletion = Operation.DeleteText(message: message, first: first, count: 1)
      typed.append(
        Operation(
          id: OperationID(replica: replica, seq: 500 + offset), body: .deleteText(deletion)))
    }
    let decoded = try DeltaCodec.decode(DeltaCodec.encode(typed))
    #expect(
      decoded == [
        Operation(
          id: typed[0].id,
          body: .deleteText(
            Operation.DeleteText(
              message: message,
              first: OperationID(replica: replica, seq: backwards ? 261 : 300), count: 40,
              backwards: backwards)))
      ])
  }

  @Test func movedBatchIsOneRowButStaysSeparateOperations() throws {
    let replica = ReplicaID(rawValue: 1)
    let stamp = Stamp(milliseconds: TestDevice.startOfTime)
    let session = OperationID(replica: replica, seq: 2)
    let right = OperationID(replica: replica, seq: 901)
    var left = OperationID(replica: replica, seq: 900)
    var moves: [Operation] = []
    for offset: UInt32 in 0..<30 {
      let id = OperationID(replica: replica, seq: 1_000 + offset)
      let message = OperationID(replica: replica, seq: 3 + 7 * offset)
      moves.append(
        Operation(
          id: id,
          body: .placeMessage(
            message: message, session: session, origins: .init(left: left, right: right),
            stamp: stamp)))
      left = id
    }
    let bytes = DeltaCodec.encode(moves)
    #expect(bytes.count < 60)
    #expect(try DeltaCodec.decode(bytes) == moves)
  }
}
