import DeltaCodec
import Foundation
import Fuzzing
import QueueModel
import QueueOracle
import SequenceCRDT
import SyncTestSupport
import WireProtocol

/// The inputs that fuzzers start from: the test vectors, and a device's work on the fixture.
enum FuzzSeeds {
  static func seeds(of target: FuzzTarget) throws -> [FuzzFiles.Input] {
    switch target {
    case .deltas:
      return try vectors("deltas.json", \.body)
        + FuzzFixture.laterDeltas(40, seed: 1).enumerated().map { index, operations in
          FuzzFiles.Input(name: "work-\(index)", bytes: DeltaCodec.encode(operations))
        } + [
          FuzzFiles.Input(
            name: "work-together",
            bytes: DeltaCodec.encode(FuzzFixture.laterDeltas(60, seed: 2).flatMap { $0 })),
          FuzzFiles.Input(name: "placements-past-the-limit", bytes: placementsPastTheLimit),
        ]
    case .snapshots:
      return try vectors("snapshots.json", \.body)
        + (try images()).enumerated().map { index, image in
          FuzzFiles.Input(name: "work-\(index)", bytes: SnapshotCodec.encode(image))
        }
    case .frames:
      let frames = try vectors("frames.json", \.bytes)
      return try frames
        + vectors("deltas.json", \.bytes).map { delta in
          let changes = Changes(batch: 1, delta: delta.bytes)
          return FuzzFiles.Input(
            name: "changes-" + delta.name, bytes: FrameCodec.encode(.changes(changes)))
        }
    case .envelopes:
      let packed = try vectors("deltas.json", \.bytes) + vectors("snapshots.json", \.bytes)
      return packed.map {
        FuzzFiles.Input(name: $0.name, bytes: EnvelopeTarget.input(for: $0.bytes))
      } + [
        FuzzFiles.Input(
          name: "placements-past-the-limit",
          bytes: EnvelopeTarget.input(for: PackedDelta.pack(placements(131_073))))
      ]
    case .sequences:
      return (0..<22).map { seed in
        var generator = SeededGenerator(seed: UInt64(seed))
        let count = 20 + generator.below(200)
        return FuzzFiles.Input(
          name: "program-\(seed)", bytes: (0..<count).map { _ in UInt8(generator.below(256)) })
      }
    case .json, .requests, .addresses, .codes, .inputs, .tasks:
      return TextSeeds.seeds(of: target)
    }
  }

  /// Whether the decoder of its target accepts an input.
  static func isTaken(_ bytes: [UInt8], by target: FuzzTarget) -> Bool {
    switch target {
    case .deltas: (try? DeltaCodec.decode(bytes)) != nil
    case .snapshots: (try? SnapshotCodec.decode(bytes)).flatMap { try? Workspace(image: $0) } != nil
    case .frames: (try? FrameCodec.decode(bytes)) != nil
    case .envelopes: isEnvelopeTaken(bytes)
    case .sequences: true
    case .json, .requests, .addresses, .codes, .inputs, .tasks:
      TextSeeds.isTaken(bytes, by: target)
    }
  }

  private static func isEnvelopeTaken(_ bytes: [UInt8]) -> Bool {
    guard let mode = bytes.first else { return false }
    let isSnapshot = mode & 2 != 0
    let envelope = EnvelopeTarget.envelope(
      magic: isSnapshot ? 0xD : 0xC, isDeflated: mode & 1 != 0, body: Array(bytes.dropFirst()))
    return isSnapshot
      ? (try? PackedSnapshot.unpack(envelope)) != nil : (try? PackedDelta.unpack(envelope)) != nil
  }

  /// One row that claims more placements than a delta may hold.
  private static let placementsPastTheLimit: [UInt8] =
    [0x02, 1, 2, 3, 4, 5, 6, 7, 8, 0x0E, 0xFF, 0xFF, 0x07, 0xE1, 2, 2]

  private static func placements(_ count: UInt32) -> [QueueModel.Operation] {
    let replica = ReplicaID(rawValue: 1)
    return (0..<count).map { number in
      let left = number == 0 ? nil : OperationID(replica: replica, seq: 9 + number)
      return QueueModel.Operation(
        id: OperationID(replica: replica, seq: 10 + number),
        body: .placeMessage(
          message: OperationID(replica: replica, seq: 3),
          session: OperationID(replica: replica, seq: 2),
          origins: .init(left: left, right: nil), stamp: Stamp(rawValue: 1 << 40)))
    }
  }

  /// The state of the fixture, growing as a device works.
  private static func images() throws -> [WorkspaceImage] {
    var workspace = FuzzFixture.workspace
    var images = [workspace.image()]
    for (index, delta) in FuzzFixture.laterDeltas(48, seed: 3).enumerated() {
      _ = try workspace.merge(delta)
      if index % 6 == 5 { images.append(workspace.image()) }
    }
    return images
  }

  private struct VectorFile: Decodable {
    struct Vector: Decodable {
      var name: String
      var body: String?
      var bytes: String?
    }

    var vectors: [Vector]
  }

  private static func vectors(
    _ file: String, _ field: KeyPath<VectorFile.Vector, String?>
  ) throws -> [FuzzFiles.Input] {
    let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Protocol/TestVectors/" + file)
    let decoded = try JSONDecoder().decode(VectorFile.self, from: Data(contentsOf: url))
    return decoded.vectors.enumerated().compactMap { index, vector in
      guard let text = vector[keyPath: field] else { return nil }
      let words = vector.name.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
      return FuzzFiles.Input(
        name: "vector-\(index)-" + words.joined(separator: "-"), bytes: bytes(hexadecimal: text))
    }
  }

  private static func bytes(hexadecimal text: String) -> [UInt8] {
    let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
