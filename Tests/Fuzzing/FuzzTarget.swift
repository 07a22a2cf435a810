/// A target of the fuzzer; README.md describes how to run it.
package enum FuzzTarget: String, CaseIterable, Sendable {
  /// Bodies of deltas: decoded, encoded again, merged into a workspace.
  case deltas
  /// Bodies of snapshots: decoded, encoded again, restored and used.
  case snapshots
  /// Frames, and the deltas and snapshots in them.
  case frames
  /// Envelopes with a correct checksum: inflated data must match the promise.
  case envelopes
  /// Programs of sequence operations on three replicas, beside the explicit tree.
  case sequences
  /// JSON of settings, documents and requests.
  case json
  /// Bodies of requests to the local API.
  case requests
  /// Addresses as settings and proxies write them.
  case addresses
  /// Pairing codes.
  case codes
  /// Inputs that agents give to tools, as users read them.
  case inputs
  /// Reports of a session's host about its agent's requests.
  case tasks

  /// Runs one input; a documented refusal is not a finding.
  package func run(_ bytes: [UInt8]) throws(FuzzFinding) {
    switch self {
    case .deltas: try DeltaTarget.run(bytes)
    case .snapshots: try SnapshotTarget.run(bytes)
    case .frames: try FrameTarget.run(bytes)
    case .envelopes: try EnvelopeTarget.run(bytes)
    case .sequences: try SequenceTarget.run(bytes)
    case .json: try JSONTarget.run(bytes)
    case .requests: try RequestTarget.run(bytes)
    case .addresses: try AddressTarget.run(bytes)
    case .codes: try CodeTarget.run(bytes)
    case .inputs: try InputTarget.run(bytes)
    case .tasks: try TaskTarget.run(bytes)
    }
  }
}

/// A property that does not hold.
package struct FuzzFinding: Error, Sendable, CustomStringConvertible {
  package var description: String

  package init(_ description: String) {
    self.description = description
  }
}

/// Runs something that must not fail, and reports it if it does.
func require<Value>(
  _ what: String, _ work: () throws -> Value
) throws(FuzzFinding) -> Value {
  do {
    return try work()
  } catch {
    throw FuzzFinding("\(what): \(error)")
  }
}

func require(_ what: String, _ holds: Bool) throws(FuzzFinding) {
  guard holds else { throw FuzzFinding(what) }
}
