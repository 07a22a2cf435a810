import QueueModel
import QueueOracle
import WireProtocol

/// Every frame has one form, so decoded frames must encode to the same bytes.
enum FrameTarget {
  static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    guard let frame = try? FrameCodec.decode(bytes) else { return }
    if case .unknownOptional = frame { return }
    try require("another frame comes back", FrameCodec.encode(frame) == bytes)
    switch frame {
    case .changes(let changes):
      guard let operations = try? PackedDelta.unpack(changes.delta),
        operations.reduce(0, { $0 + $1.length }) < 10_000
      else { return }
      try DeltaTarget.checkRoundTrip(operations)
    case .request(let request):
      guard let question = try? InboxRequest(request) else { return }
      try require("another request comes back", question.request(id: request.id) == request)
    case .snapshot(let part) where part.count == 1:
      guard let image = try? PackedSnapshot.unpack(part.bytes) else { return }
      let again = try require("the packed snapshot does not unpack") {
        try PackedSnapshot.unpack(PackedSnapshot.pack(image))
      }
      try require("another image comes back", again.isExactlyEqual(to: image))
    default:
      return
    }
  }
}
