import DeltaCodec
import QueueModel
import SequenceCRDT
import SyncTestSupport
import Testing
import WireProtocol

/// Damages every vector as a bad line, a bad disk or a bad peer can.
struct DamageTests {
  private static let packedFiles = ["deltas.json", "snapshots.json"]

  /// How a decoder read damaged bytes.
  private enum Outcome: Hashable {
    case refused(WireError.Code)
    case operations([Single])
    case image(WorkspaceImage)
    case frame(Frame)
  }

  private func read(_ bytes: [UInt8], _ file: String) -> Outcome {
    do {
      switch file {
      case "deltas.json": return .operations(Single.singles(of: try PackedDelta.unpack(bytes)))
      case "snapshots.json": return .image(try PackedSnapshot.unpack(bytes))
      default: return .frame(try FrameCodec.decode(bytes))
      }
    } catch {
      return .refused(error.code)
    }
  }

  @Test(arguments: packedFiles) func everyCutEnvelopeIsRefused(file: String) throws {
    for vector in try VectorFile.allBytes([file]) {
      for length in vector.bytes.indices {
        guard case .refused = read(Array(vector.bytes[..<length]), file) else {
          Issue.record("\(vector.name) cut to \(length) bytes was taken")
          continue
        }
      }
    }
  }

  @Test(arguments: packedFiles) func everyFlippedBitOfAnEnvelopeIsRefused(file: String) throws {
    for vector in try VectorFile.allBytes([file]) {
      for bit in 0..<vector.bytes.count * 8 {
        var damaged = vector.bytes
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        guard case .refused = read(damaged, file) else {
          Issue.record("\(vector.name) with bit \(bit) flipped was taken")
          continue
        }
      }
    }
  }

  @Test(arguments: packedFiles) func bytesAfterAnEnvelopeAreRefused(file: String) throws {
    for vector in try VectorFile.allBytes([file]) {
      for more in [[0], [0xFF, 0xFF], vector.bytes] as [[UInt8]] {
        guard case .refused = read(vector.bytes + more, file) else {
          Issue.record("\(vector.name) with \(more.count) more bytes was taken")
          continue
        }
      }
    }
  }

  /// Frames have no checksum of their own: a damaged frame shows as an error or as another value.
  @Test func damagedFramesAreRefusedOrReadAsOthers() throws {
    for vector in try VectorFile.allBytes(["frames.json"]) {
      let whole = read(vector.bytes, "frames.json")
      for length in vector.bytes.indices {
        #expect(read(Array(vector.bytes[..<length]), "frames.json") != whole, "\(vector.name)")
      }
      for bit in 0..<vector.bytes.count * 8 {
        var damaged = vector.bytes
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(read(damaged, "frames.json") != whole, "\(vector.name), bit \(bit)")
      }
    }
  }

  /// Bodies without their checksum: damage never traps, and never yields the same value from other
  /// bytes.
  @Test func damagedBodiesAreRefusedOrReadAsOthers() throws {
    for vector in try VectorFile.read("deltas.json").vectors {
      let body = try #require(vector.body.flatMap(Hex.decode))
      let whole = Single.singles(of: try DeltaCodec.decode(body))
      for length in body.indices where length > 0 {
        let decoded = try? DeltaCodec.decode(Array(body[..<length]))
        #expect(decoded.map { Single.singles(of: $0) } != whole, "\(vector.name) cut to \(length)")
      }
      for bit in 0..<body.count * 8 {
        var damaged = body
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        guard let decoded = try? DeltaCodec.decode(damaged),
          decoded.reduce(0, { $0 + $1.length }) < 10_000
        else { continue }
        let again = try DeltaCodec.decode(DeltaCodec.encode(decoded))
        #expect(Single.singles(of: again) == Single.singles(of: decoded), "\(vector.name)")
      }
    }
    for vector in try VectorFile.read("snapshots.json").vectors {
      let body = try #require(vector.body.flatMap(Hex.decode))
      for bit in 0..<body.count * 8 {
        var damaged = body
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        guard let image = try? SnapshotCodec.decode(damaged) else { continue }
        #expect(try SnapshotCodec.decode(SnapshotCodec.encode(image)) == image, "\(vector.name)")
        _ = try? Workspace(image: image)
      }
    }
  }
}
