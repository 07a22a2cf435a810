#if os(Linux)
  import DeltaCodec
  import Foundation
  import QueueModel
  import SyncTestSupport
  import Testing

  @testable import SequenceCRDT
  @testable import WireProtocol

  /// A few bytes that encode millions of items. Each case runs in a process of its own whose memory
  /// may grow only by a fixed amount: code that reserves memory before it checks ends the process.
  struct ExpansionTests {
    @Test func deltasOfAFewBytesTakeNoMemory() async {
      await #expect(processExitsWith: .success) {
        let bombs = Bombs.deltas
        MemoryFence.raise(megabytes: 24)
        for bomb in bombs {
          #expect(throws: DecodingFault.self, "\(bomb.name)") {
            try DeltaCodec.decode(bomb.bytes)
          }
        }
      }
    }

    /// A thousand compressed bytes that encode a million placements, or rows of one character.
    @Test func compressedOperationsTakeNoMemoryBeyondTheirLimit() async {
      await #expect(processExitsWith: .success) {
        let bombs = Bombs.compressed
        MemoryFence.raise(megabytes: 128)
        for bomb in bombs {
          #expect(bomb.bytes.count < 2_100, "\(bomb.name)")
          let error = #expect(throws: WireError.self) { try PackedDelta.unpack(bomb.bytes) }
          let what = bomb.name.prefix { $0 != " " }
          #expect(
            error?.description.contains(what) == true, "\(bomb.name): \(String(describing: error))")
        }
      }
    }

    /// A deletion is one row whatever its length, so the largest allowed one is accepted.
    @Test func theLargestDeletionTakesNoMemory() async {
      await #expect(processExitsWith: .success) {
        var device = TestDevice(1)
        try device.perform(.send("text", as: 1, in: "s"))
        let replica = ReplicaID(rawValue: 9)
        let deletion = QueueModel.Operation.DeleteText(
          message: OperationID(replica: replica, seq: 3),
          first: OperationID(replica: replica, seq: 10), count: 1_200_000)
        let bytes = DeltaCodec.encode([
          QueueModel.Operation(
            id: OperationID(replica: replica, seq: 2_000_000), body: .deleteText(deletion))
        ])
        #expect(bytes.count < 30)
        MemoryFence.raise(megabytes: 24)
        let operations = try DeltaCodec.decode(bytes)
        #expect(operations.count == 1)
        #expect(try device.merge(operations).waiting == 1)
        #expect(device.workspace.missingRanges.count <= 2)
      }
    }

    @Test func envelopesThatPromiseTooMuchTakeNoMemory() async {
      await #expect(processExitsWith: .success) {
        let bombs = Bombs.envelopes
        MemoryFence.raise(megabytes: 24)
        for bomb in bombs {
          #expect(throws: WireError.self, "\(bomb.name)") { try PackedDelta.unpack(bomb.bytes) }
        }
      }
    }

    /// 16 MiB of one byte in 16 KiB: inflated, because that much is allowed, and then refused.
    @Test func theLongestBodyThatMayInflateTakesItsLength() async {
      await #expect(processExitsWith: .success) {
        let bytes = try #require(
          Bombs.deflated([UInt8](repeating: 0, count: WireLimits.inflateBytesMax)))
        #expect(bytes.count < 17_000)
        MemoryFence.raise(megabytes: 64)
        #expect(throws: WireError.self) { try PackedDelta.unpack(bytes) }
      }
    }

    @Test func snapshotsOfAFewBytesTakeNoMemory() async {
      await #expect(processExitsWith: .success) {
        let bombs = try Bombs.snapshots()
        MemoryFence.raise(megabytes: 24)
        for bomb in bombs {
          #expect(throws: DecodingFault.self, "\(bomb.name)") {
            _ = try Workspace(image: SnapshotCodec.decode(bomb.bytes))
          }
        }
      }
    }

    /// A text whose characters were all deleted: 262,144 scalars that take no bytes.
    @Test func aLongHiddenRunTakesAFewBytesAScalar() async {
      await #expect(processExitsWith: .success) {
        let bytes = try Bombs.snapshot(hiddenRuns: 1, of: 1 << 18)
        #expect(bytes.count < 200)
        MemoryFence.raise(megabytes: 12)
        let workspace = try Workspace(image: SnapshotCodec.decode(bytes))
        try workspace.checkInvariants()
      }
    }

    @Test func framesOfAFewBytesTakeNoMemory() async {
      await #expect(processExitsWith: .success) {
        let bombs = Bombs.frames
        MemoryFence.raise(megabytes: 24)
        for bomb in bombs {
          #expect(throws: WireError.self, "\(bomb.name)") { try FrameCodec.decode(bomb.bytes) }
        }
      }
    }
  }

  /// Bytes that claim more than they hold.
  private enum Bombs {
    struct Bomb {
      var name: String
      var bytes: [UInt8]
    }

    /// One replica, first sequence number 1, operations in rows.
    static let start: [UInt8] = [0x02, 1, 2, 3, 4, 5, 6, 7, 8]

    static func number(_ value: UInt64) -> [UInt8] {
      var writer = ByteWriter()
      writer.number(value)
      return writer.bytes
    }

    static let deltas: [Bomb] = [
      Bomb(name: "replicas", bytes: number(65_536 << 2)),
      Bomb(name: "replicas without end", bytes: number(UInt64.max & ~2)),
      Bomb(
        name: "deletions",
        bytes: start + [0x4D, 0x06, 0x06] + number(UInt64(Limits.sequenceMax) - 2)),
      Bomb(name: "a text", bytes: start + [0xB1, 0x06] + number(1_000_000)),
      Bomb(name: "placements", bytes: start + [0x0E] + number(1_199_997) + [0xE1]),
      Bomb(name: "cleared tags", bytes: start + [0x04, 0x13] + number(9_999)),
      Bomb(name: "a session id", bytes: start + [0x02, 0x00] + number(1 << 40)),
      Bomb(name: "a column", bytes: [0x03] + start.dropFirst() + [0] + number(1 << 60)),
    ]

    static var compressed: [Bomb] {
      let stamp: [UInt8] = [0, 0, 0, 0, 0]
      let bodies: [(name: String, body: [UInt8])] = [
        (
          "operations in one row",
          start + [0x0E] + number(999_998) + [0xE1] + stamp + [2]
            + [UInt8](repeating: 0, count: 999_999)
        ),
        // placeMessage behind the last one, again and again.
        (
          "operations in rows",
          start + [0xE1] + stamp + [2] + (0..<450_000).flatMap { _ in [0xC0, 0] as [UInt8] }
        ),
        // insertText behind the last one, the letter "a" each time.
        ("rows", start + [0x91, 2, 97] + (0..<450_000).flatMap { _ in [0x80, 97] as [UInt8] }),
      ]
      return bodies.compactMap { name, body in
        deflated(body).map { Bomb(name: name, bytes: $0) }
      }
    }

    static let envelopes: [Bomb] = [
      Bomb(name: "longer than allowed", bytes: envelope(promising: 1 << 30, [3, 0])),
      Bomb(name: "longer than the ratio allows", bytes: envelope(promising: 1 << 20, [3, 0])),
      Bomb(name: "all that 64 bits hold", bytes: envelope(promising: .max, [3, 0])),
      Bomb(
        name: "a promise of 16 MiB with nothing behind it",
        bytes: envelope(promising: 16 << 20, [3, 0] + [UInt8](repeating: 0, count: 17_000))),
      Bomb(
        name: "more than promised",
        bytes: envelope(
          promising: 10,
          Zlib.deflate(
            [UInt8](repeating: 7, count: 8 << 20), blockEnds: [],
            dictionary: PresetDictionary.standard.bytes) ?? [])),
    ]

    static let frames: [Bomb] = [
      Bomb(name: "devices", bytes: [FrameType.presence.rawValue] + number(1_000)),
      Bomb(name: "a message", bytes: [FrameType.error.rawValue] + number(1) + number(1 << 50)),
    ]

    static func deflated(_ body: [UInt8]) -> [UInt8]? {
      Zlib.deflate(body, blockEnds: [], dictionary: PresetDictionary.standard.bytes)
        .map { envelope(promising: UInt64(body.count), $0) }
    }

    /// An envelope of a delta, with a correct checksum.
    private static func envelope(promising length: UInt64, _ stream: [UInt8]) -> [UInt8] {
      var bytes = [0xC << 4 | Envelope.firstVersion << 1 | 1] + number(length) + stream
      let seed = PresetDictionary.standard.checksumBytes
      let isShort = bytes.count + 2 <= Envelope.shortBytesMax
      let sum =
        isShort
        ? UInt32(Checksum.crc16(bytes, from: Checksum.crc16(seed)))
        : Checksum.crc32(bytes, from: Checksum.crc32(seed))
      for index in 0..<UInt32(isShort ? 2 : 4) {
        bytes.append(UInt8(truncatingIfNeeded: sum >> (8 * index)))
      }
      return bytes
    }

    static func snapshots() throws -> [Bomb] {
      [
        Bomb(name: "sessions", bytes: number(2) + number(1 << 50)),
        Bomb(name: "sessions beyond all", bytes: number(2) + number(.max)),
        Bomb(name: "a layout that is gone", bytes: number(1) + number(1 << 40)),
        Bomb(
          name: "hidden scalars in many runs",
          bytes: try snapshot(hiddenRuns: 10, of: TextContent.unitsMax / 2)),
        Bomb(name: "dead slots", bytes: try snapshot(deadSlots: 200_000_000)),
      ]
    }

    /// A workspace with one message that was added `count` times, each time with content that was
    /// deleted.
    static func snapshot(hiddenRuns count: Int, of length: Int) throws -> [UInt8] {
      var image = try image()
      let replica = image.replicas[0].id
      let first = image.sessions[0].messages[0].additions[0]
      image.sessions[0].messages[0].additions = (0..<count).map { number in
        var addition = first
        if number > 0 { addition.id = OperationID(replica: replica, seq: UInt32(50 + number)) }
        let run = WorkspaceImage.SlotRun(
          id: OperationID(replica: replica, seq: UInt32(100 + number * length)), length: length,
          origins: QueueModel.Operation.Origins(left: nil, right: nil))
        addition.runs = [WorkspaceImage.TextRun(slots: run, isVisible: false)]
        addition.text = ""
        return addition
      }
      return SnapshotCodec.encode(image)
    }

    /// A workspace with `count` slots in the thread queue that no thread uses.
    private static func snapshot(deadSlots count: Int) throws -> [UInt8] {
      var image = try image()
      image.threadSlots.append(
        WorkspaceImage.SlotRun(
          id: OperationID(replica: image.replicas[0].id, seq: 9), length: count,
          origins: QueueModel.Operation.Origins(left: image.threadSlots.last?.id, right: nil)))
      return SnapshotCodec.encode(image)
    }

    private static func image() throws -> WorkspaceImage {
      var device = TestDevice(1)
      try device.perform(.send("text", as: 1, in: "s"))
      var image = device.workspace.image()
      image.replicas[0].seq = Limits.sequenceMax
      return image
    }
  }

  /// Lets this process take only a fixed amount of further memory.
  private enum MemoryFence {
    static func raise(megabytes: Int) {
      let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?
        .split(separator: " ").first.flatMap { UInt64($0) }
      guard let pages else { preconditionFailure("the size of the process is not known") }
      let bytes = pages * UInt64(sysconf(Int32(_SC_PAGESIZE))) + UInt64(megabytes) << 20
      var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
      precondition(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
    }
  }
#endif
