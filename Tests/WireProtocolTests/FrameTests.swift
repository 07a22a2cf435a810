import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing

@testable import WireProtocol

struct FrameTests {
  private func code(_ bytes: [UInt8]) -> WireError.Code? {
    do {
      _ = try FrameCodec.decode(bytes)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func everyFrameTypeHasAVector() {
    let types = Set(VectorValues.frames.map { FrameCodec.encode($0.frame)[0] })
    for type in FrameType.allCases { #expect(types.contains(type.head), "\(type)") }
  }

  @Test func unknownFramesAreSkippedOnlyIfTheySayTheyMayBe() {
    #expect(code([100]) == .unsupported)
    #expect(code([16, 1]) == .malformed, "a frame that may be skipped says so")
    #expect(code([0]) == .unsupported)
    #expect(throws: Never.self) { try FrameCodec.decode([0x80 | 100, 1, 2, 3]) }
    #expect(code([0x80 | 7, 1, 2]) == .malformed, "a known frame is not optional")
    #expect(code([]) == .truncated)
  }

  @Test func framesEndAtTheirLimit() throws {
    let fill = WireLimits.frameBytesMax - 3
    let changes = Changes(batch: 1, delta: Array(repeating: 7, count: fill))
    let bytes = FrameCodec.encode(.changes(changes))
    #expect(bytes.count == WireLimits.frameBytesMax)
    #expect(try FrameCodec.decode(bytes) == .changes(changes))
    #expect(code(bytes + [7]) == .limitExceeded)
  }

  @Test func trailingBytesAreRefused() {
    for value in VectorValues.frames {
      switch value.frame {
      case .changes, .snapshot, .request, .response, .unknownOptional: continue
      default:
        #expect(code(FrameCodec.encode(value.frame) + [0]) == .trailingBytes, "\(value.name)")
      }
    }
  }

  @Test func namesEndAtTheirLimit() {
    for (count, expected) in [(1_024, nil), (1_025, WireError.Code.limitExceeded)] {
      let name = String(repeating: "n", count: count)
      let pair = PairRequest(
        versions: 1...1, code: "B", device: VectorValues.device, deviceName: name)
      #expect(code(FrameCodec.encode(.pair(pair))) == expected)
      let devices = [
        DevicePresence(
          device: VectorValues.device, name: name, isConnected: true, seenLogPosition: 0)
      ]
      #expect(code(FrameCodec.encode(.presence(devices))) == expected)
    }
    for (count, expected) in [(64, nil), (65, WireError.Code.limitExceeded)] {
      let pair = PairRequest(
        versions: 1...1, code: String(repeating: "B", count: count), device: VectorValues.device,
        deviceName: "")
      #expect(code(FrameCodec.encode(.pair(pair))) == expected)
    }
  }

  @Test func tokensHave32Bytes() {
    for (count, expected) in [
      (32, nil), (31, WireError.Code.malformed), (0, .malformed), (33, .limitExceeded),
    ] {
      let grant = PairGrant(
        workspace: VectorValues.workspace, workspaceName: "w", device: VectorValues.device,
        token: Array(repeating: 1, count: count))
      #expect(code(FrameCodec.encode(.paired(grant))) == expected)
    }
  }

  @Test func messagesForPeopleAreCutByTheWriter() throws {
    let long = String(repeating: "é", count: 2_000)
    let bytes = FrameCodec.encode(.error(ProtocolFault(code: 1, message: long)))
    guard case .error(let fault) = try FrameCodec.decode(bytes) else {
      Issue.record("another frame came back")
      return
    }
    #expect(fault.message == String(repeating: "é", count: 512))
  }

  @Test func countsAreCheckedAgainstWhatFollows() {
    // presence: announces 1,000 devices and ends; one device more is beyond the limit anyway.
    #expect(code([11, 0xE8, 0x07]) == .truncated)
    #expect(code([11, 0xE9, 0x07]) == .limitExceeded)
  }

  @Test func fieldsThatContradictThemselvesAreRefused() {
    #expect(code([8, 0, 0, 1]) == nil)
    #expect(code([8, 0, 1, 1]) == .malformed, "part 1 of 1")
    #expect(code([8, 0, 0, 0]) == .malformed, "part 0 of 0")
    #expect(code([1, 2, 1, 0] + Array(repeating: 0, count: 17)) == .malformed, "versions 2 to 1")
    #expect(code([12, 5, 4, 0]) == .malformed, "from 5 to 4 milliseconds")
    #expect(code([7, 0x80, 0x00, 0]) == .malformed, "an overlong number")
  }

  @Test func randomFramesNeverTrap() {
    var generator = TestSeeds.generator(standard: 5)
    for _ in 0..<40_000 {
      var bytes = (0..<generator.below(120)).map { _ in UInt8(generator.below(256)) }
      if !bytes.isEmpty {
        bytes[0] = UInt8(generator.below(20))
        if bytes[0] > 16 { bytes[0] |= 0x80 }
      }
      _ = try? FrameCodec.decode(bytes)
    }
  }

  @Test func versionsAreChosenFromWhatBothSpeak() {
    #expect(ProtocolVersion.choose(1...1) == nil)
    #expect(ProtocolVersion.choose(1...9) == ProtocolVersion.current)
    #expect(ProtocolVersion.choose(0...0) == nil)
    #expect(ProtocolVersion.choose(2...9) == ProtocolVersion.current)
    #expect(ProtocolVersion.choose(ProtocolVersion.spoken) == ProtocolVersion.current)
  }
}
