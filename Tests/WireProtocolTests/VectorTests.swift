import DeltaCodec
import Foundation
import QueueModel
import SyncTestSupport
import Testing

@testable import WireProtocol

/// The files under `Protocol/TestVectors` hold what the code writes, and the code reads them.
struct VectorTests {
  private func compare(
    _ name: String, about: String, _ expected: [VectorFile.Vector]
  ) throws -> [VectorFile.Vector] {
    if VectorFile.isWriting {
      try VectorFile(about: about, vectors: expected).write(name)
    }
    let file = try VectorFile.read(name)
    #expect(file.about == about)
    #expect(file.vectors.map(\.name) == expected.map(\.name))
    for (vector, expected) in zip(file.vectors, expected) {
      #expect(vector.description == expected.description)
      #expect(vector.value == expected.value, "\(vector.name)")
      #expect(vector.body == expected.body, "\(vector.name)")
      #expect(vector.bytes == expected.bytes, "\(vector.name)")
    }
    return file.vectors
  }

  @Test func deltaVectorsHold() throws {
    let values = VectorValues.kinds + VectorValues.sequences + [try VectorValues.sessionOfWork()]
    let vectors = try compare(
      "deltas.json",
      about: "Deltas: `body` is the uncompressed delta, `bytes` the envelope as sent.",
      values.map { value in
        VectorFile.Vector(
          name: value.name, description: value.description,
          value: value.operations.map(VectorText.describe),
          body: Hex.encode(DeltaCodec.encode(value.operations)),
          bytes: Hex.encode(PackedDelta.pack(value.operations)))
      })
    for (vector, value) in zip(vectors, values) {
      let bytes = try #require(Hex.decode(vector.bytes))
      let decoded = try PackedDelta.unpack(bytes)
      #expect(Single.singles(of: decoded) == Single.singles(of: value.operations))
      #expect(PackedDelta.pack(decoded) == bytes, "\(vector.name)")
      let body = try #require(vector.body.flatMap(Hex.decode))
      #expect(try DeltaCodec.decode(body) == decoded)
    }
  }

  @Test func frameVectorsHold() throws {
    let vectors = try compare(
      "frames.json", about: "Frames: `bytes` is one WebSocket message.",
      VectorValues.frames.map { value in
        VectorFile.Vector(
          name: value.name, description: value.description,
          value: [VectorText.describe(value.frame)],
          bytes: Hex.encode(FrameCodec.encode(value.frame)))
      })
    for (vector, value) in zip(vectors, VectorValues.frames) {
      let bytes = try #require(Hex.decode(vector.bytes))
      #expect(try FrameCodec.decode(bytes) == value.frame, "\(vector.name)")
    }
  }

  @Test func snapshotVectorsHold() throws {
    let values = [
      ("nothing", "An unused workspace.", WorkspaceImage()),
      (
        "two devices", "After concurrent edits, a move and a cancellation.",
        try VectorValues.image()
      ),
    ]
    let vectors = try compare(
      "snapshots.json",
      about: "Snapshots: `body` is uncompressed, `bytes` the envelope, to be cut into parts.",
      values.map { value in
        VectorFile.Vector(
          name: value.0, description: value.1,
          value: Mirror(reflecting: value.2).children.map {
            "\($0.label ?? ""): " + VectorText.describe($0.value)
          },
          body: Hex.encode(SnapshotCodec.encode(value.2)),
          bytes: Hex.encode(PackedSnapshot.pack(value.2)))
      })
    for (vector, value) in zip(vectors, values) {
      let bytes = try #require(Hex.decode(vector.bytes))
      #expect(try PackedSnapshot.unpack(bytes) == value.2)
      #expect(try Workspace(image: value.2).image() == value.2)
    }
  }

  @Test func dictionaryFileIsTheDictionary() throws {
    let url = VectorFile.url("dictionary.txt")
    if VectorFile.isWriting { try Data(PresetDictionary.standard.bytes).write(to: url) }
    #expect(try Array(Data(contentsOf: url)) == PresetDictionary.standard.bytes)
  }
}
