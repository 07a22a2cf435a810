package import DeltaCodec

/// Why bytes from the wire were refused: the kind, the place, and a text.
package struct WireError: Error, Hashable, Sendable {
  /// The kinds of errors.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// The bytes end too early.
    case truncated
    /// The bytes are of an unexpected kind.
    case wrongMagic
    /// Written in a version that this reader does not know; update the reader.
    case unsupportedVersion
    /// A kind of frame, row or column that this reader does not know; update the reader.
    case unsupported
    /// The bytes were damaged, or compressed with another dictionary.
    case wrongChecksum
    /// The compressed stream is broken.
    case inflateFailed
    /// A field has a forbidden value.
    case malformed
    /// A documented maximum is exceeded.
    case limitExceeded
    /// Extra bytes follow the expected end.
    case trailingBytes
  }

  package var code: Code
  /// Counted from the start of the frame. For faults inside a delta or snapshot, from the start of
  /// its uncompressed bytes.
  package var offset: Int
  package var message: String

  package init(_ code: Code, at offset: Int, _ message: String) {
    self.code = code
    self.offset = offset
    self.message = message
  }

  package init(_ fault: DecodingFault) {
    let code: Code =
      switch fault.code {
      case .truncated: .truncated
      case .overlongNumber, .invalidValue, .invalidText: .malformed
      case .unsupported: .unsupported
      case .limitExceeded, .budgetExceeded: .limitExceeded
      case .trailingBytes: .trailingBytes
      }
    self.init(code, at: fault.offset, fault.message)
  }
}

extension WireError: CustomStringConvertible {
  package var description: String { "\(code.rawValue) at byte \(offset): \(message)" }
}
