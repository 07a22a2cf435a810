import ArgumentParser
import Testing

@testable import Benchmarks

/// The output that scripts read, and how the command line is checked.
@Suite struct ReportTests {
  @Test func jsonIsOneObjectOfThreeFields() throws {
    let report = Report(
      suite: "delta", machine: "a \"machine\"",
      results: [Result(name: "delta/one-move", metric: "bytes", value: 24)])
    #expect(
      try report.json == """
        {"machine":"a \\"machine\\"","results":[{"metric":"bytes","name":"delta/one-move",\
        "value":24}],"suite":"delta"}
        """)
  }

  @Test func mediansAreOfTheMiddle() {
    #expect(Result.median("m", [3, 1, 2]).value == 2)
    #expect(Result.median("m", [4, 1, 3, 2]).value == 3)
    #expect(Result.median("m", [7]).metric == "seconds")
  }

  @Test func tablesNameTheirUnits() {
    let results = [
      Result(name: "a", metric: "seconds", value: 0.25e-7),
      Result(name: "a", metric: "seconds", value: 0.002),
      Result(name: "a", metric: "bytes", value: 24),
      Result(name: "a", metric: "ratio", value: 0.25),
    ]
    let lines = Report(suite: "all", machine: "", results: results).table.split(separator: "\n")
    #expect(
      lines.map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == [
        "25.0 ns", "2.000 ms", "24.0 B", "0.250",
      ])
  }

  @Test(arguments: [["none"], ["delta", "--runs", "0"], ["delta", "--runs", "1001"], ["a", "b"]])
  func wrongArgumentsAreRefused(arguments: [String]) {
    #expect(throws: (any Error).self) { try CospoolBench.parse(arguments) }
  }

  @Test func theSessionOfWorkIsTheSameEachTime() throws {
    let (first, second) = (try SessionOfWork(), try SessionOfWork())
    #expect(first.operations == second.operations)
    #expect(first.deltaBytes == second.deltaBytes)
  }
}
