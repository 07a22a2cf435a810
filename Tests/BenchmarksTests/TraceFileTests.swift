import CZlib
import Testing

@testable import Benchmarks

/// Trace files are read as written, and damaged ones are refused with an explanation.
@Suite struct TraceFileTests {
  private static let sequential = """
    {"startContent":"ab","endContent":"aX👍","txns":[{"time":"2021","patches":[[1,1,"X"]]},
    {"patches":[[2,0,"👍"]]}]}
    """
  private static let concurrent = """
    {"kind":"concurrent","endContent":"ab","numAgents":2,"txns":[
    {"parents":[],"agent":0,"patches":[[0,0,"a"]]},{"parents":[0],"agent":1,"patches":[[1,0,"b"]]}]}
    """

  @Test func sequentialFilesAreRead() throws {
    let trace = try TraceFile.sequential(gzipped: gzip(Self.sequential))
    #expect(
      trace.patches == [
        Patch(position: 0, deleted: 0, inserted: "ab"),
        Patch(position: 1, deleted: 1, inserted: "X"),
        Patch(position: 2, deleted: 0, inserted: "👍"),
      ])
    #expect(trace.endContent == "aX👍")
  }

  @Test func concurrentFilesAreRead() throws {
    let trace = try TraceFile.concurrent(gzipped: gzip(Self.concurrent))
    #expect(trace.transactions.map(\.parents) == [[], [0]])
    #expect(trace.transactions.map(\.agent) == [0, 1])
    #expect(trace.agentCount == 2)
  }

  @Test func aFileCutAnywhereIsRefused() throws {
    let whole = try gzip(Self.sequential)
    for count in whole.indices {
      #expect(throws: BenchFailure.self, "cut after \(count) bytes") {
        try TraceFile.sequential(gzipped: Array(whole[..<count]))
      }
    }
  }

  @Test func bytesBehindTheFileAreRefused() throws {
    #expect(throws: BenchFailure.self) {
      try TraceFile.sequential(gzipped: gzip(Self.sequential) + [0])
    }
  }

  @Test(arguments: [
    ("{\"startContent\":\"\",\"endContent\":\"\"}", "txns"),
    (Self.sequential.replacing("[1,1,\"X\"]", with: "[-1,1,\"X\"]"), "position, deleted, inserted"),
    (
      Self.sequential.replacing("[1,1,\"X\"]", with: "[1,1,\"X\",2]"), "position, deleted, inserted"
    ),
  ])
  func filesOfAnotherFormAreRefused(json: String, reason: String) throws {
    let error = #expect(throws: (any Error).self) {
      try TraceFile.sequential(gzipped: gzip(json))
    }
    #expect("\(try #require(error))".contains(reason))
  }

  @Test(arguments: [("[0]", "[1]", "parent"), ("\"agent\":1", "\"agent\":2", "agent 2 of 2")])
  func transactionsThatNameNothingAreRefused(part: String, wrong: String, reason: String) throws {
    let json = Self.concurrent.replacing(part, with: wrong)
    let failure = #expect(throws: BenchFailure.self) {
      try TraceFile.concurrent(gzipped: gzip(json))
    }
    #expect(try #require(failure).message.contains(reason))
  }

  @Test func aMissingFileIsNamed() throws {
    let failure = #expect(throws: BenchFailure.self) {
      try TraceFile.sequential("none", in: "nowhere")
    }
    #expect(try #require(failure).message == "the trace nowhere/none.json.gz: it cannot be read")
  }

  /// A gzip file of one member.
  private func gzip(_ text: String) throws -> [UInt8] {
    var stream = z_stream()
    let size = Int32(MemoryLayout<z_stream>.size)
    try #require(
      deflateInit2_(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
    defer { deflateEnd(&stream) }
    var input = Array(text.utf8)
    var output = [UInt8](repeating: 0, count: input.count + 1_024)
    let written = input.withUnsafeMutableBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        let status = deflate(&stream, Z_FINISH)
        return status == Z_STREAM_END ? target.count - Int(stream.avail_out) : nil
      }
    }
    return Array(output[..<(try #require(written))])
  }
}
