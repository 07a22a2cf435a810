import AgentFormats
import Testing

@Suite struct ProcessStatTests {
  private func line(_ name: String, _ state: String = "S") -> String {
    "71 (\(name)) \(state) 42 71 71 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9381234 1024 77 5\n"
  }

  @Test(arguments: ["node", "a b", "tmux: server", ") S 1 (", "()"])
  func namesMayHoldAnything(name: String) throws {
    let stat = try #require(ProcessStat(line(name)))
    #expect(stat.name == name)
    #expect(stat.parent == 42)
    #expect(stat.session == 71 && !stat.hasTerminal)
    #expect(stat.start == 9_381_234)
    #expect(!stat.isZombie)
  }

  @Test func anEndedProcessIsAZombie() {
    #expect(ProcessStat(line("node", "Z"))?.isZombie == true)
  }

  @Test func aTerminalHasANumber() {
    let shell = line("bash").replacing("71 71 0 -1", with: "71 70 34816 71")
    #expect(ProcessStat(shell)?.session == 70)
    #expect(ProcessStat(shell)?.hasTerminal == true)
  }

  @Test func aTruncatedLineIsNotAProcess() {
    let head = "71 (node) S 42 71 71 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0"
    for length in 0...head.count { #expect(ProcessStat(String(head.prefix(length))) == nil) }
    #expect(ProcessStat(head + " 9381234")?.start == 9_381_234)
  }
}
