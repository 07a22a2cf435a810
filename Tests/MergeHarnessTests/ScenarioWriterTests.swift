import Testing

@testable import MergeHarness

@Suite struct ScenarioWriterTests {
  /// Every verb, every expectation and every field at least once.
  static let everything = """
    {
      "name": "every \\"verb\\"",
      "description": "näme",
      "world": {"seed": 9, "latencyMs": [1, 20], "splitPercent": 30, "storeMs": [1, 4], \
    "catchUpEntriesMax": 100, "snapshotEntries": 8, "partBytesMax": 512, "queueSizeMax": 20, "drainMs": 5000, \
    "agents": true, "quickAgents": true, "requests": true, \
    "alone": true, "timersLateMs": 3000, "planted": ["stamp-clamp-off"]},
      "devices": ["a", "b"],
      "steps": [
        {"on": "a", "do": "send", "session": "s", "id": "m1", "text": "one\\n"},
        {"wait": 5, "on": "a", "do": "send", "session": "s", "id": "m2", "text": "x", \
    "times": 3, "urgent": true, "project": "/p", "requeues": false, "first": true},
        {"on": "a", "do": "send", "session": "s", "id": "m9", "text": "tonight", "timeMs": 1767225600000, \
    "needs": ["m1", "m2"]},
        {"on": "a", "do": "edit", "message": "m1", "text": "uno"},
        {"on": "a", "do": "open", "message": "m1"},
        {"on": "a", "do": "edit", "message": "m1", "text": "un", "opened": true},
        {"on": "a", "do": "insert-text", "message": "m1", "at": 2, "text": "o"},
        {"on": "a", "do": "delete-text", "message": "m1", "at": 0, "count": 1},
        {"on": "a", "do": "move", "message": "m2", "to": 1},
        {"on": "a", "do": "move", "messages": ["m2", "m1"], "before": "m1"},
        {"on": "a", "do": "move", "message": "m2", "after": "m1"},
        {"on": "a", "do": "cancel", "message": "m1"},
        {"on": "a", "do": "cancel", "messages": ["m1", "m2"]},
        {"on": "a", "do": "restore", "message": "m1"},
        {"on": "a", "do": "clear", "session": "s"},
        {"on": "a", "do": "priority", "message": "m1", "value": "urgent"},
        {"on": "a", "do": "pause", "session": "s", "reason": "lunch"},
        {"on": "a", "do": "pause", "session": "s"},
        {"on": "a", "do": "resume", "session": "s"},
        {"on": "a", "do": "thread-move", "session": "s", "to": 1},
        {"on": "a", "do": "thread-move", "sessions": ["s", "t"], "after": "u"},
        {"on": "a", "do": "thread-add", "sessions": ["s", "t"]},
        {"on": "a", "do": "thread-remove", "session": "s"},
        {"on": "a", "do": "thread-remove", "sessions": ["s", "t"]},
        {"on": "a", "do": "thread-clear"},
        {"on": "a", "do": "thread-unlock", "session": "s"},
        {"on": "a", "do": "session-add", "session": "t", "name": "T", "project": "/t"},
        {"on": "a", "do": "session-rename", "session": "t", "name": "T2"},
        {"on": "a", "do": "session-delete", "session": "t"},
        {"on": "a", "do": "session-archive", "session": "t"},
        {"on": "a", "do": "session-unarchive", "session": "t"},
        {"on": "a", "do": "host", "session": "s", "number": 2},
        {"on": "a", "do": "host", "session": "s"},
        {"on": "a", "do": "on-merge", "session": "s", "value": "run"},
        {"on": "a", "do": "retry", "message": "m1"},
        {"on": "a", "do": "skip", "message": "m1"},
        {"on": "a", "do": "hold", "message": "m1", "timeMs": 1767225600000},
        {"on": "a", "do": "not-before", "message": "m1"},
        {"on": "a", "do": "later", "message": "m1", "timeMs": 1767225600000},
        {"on": "a", "do": "later", "message": "m1"},
        {"on": "a", "do": "needs", "message": "m2", "needs": ["m1"]},
        {"on": "a", "do": "needs", "message": "m2"},
        {"on": "a", "do": "undo"},
        {"on": "a", "do": "undo-skip"},
        {"on": "a", "do": "redo"},
        {"do": "sync"},
        {"do": "sync", "devices": ["a"]},
        {"do": "offline", "devices": ["a", "b"]},
        {"do": "online", "devices": ["a"]},
        {"do": "connect", "devices": ["a"]},
        {"do": "drop-ack", "devices": ["a"]},
        {"do": "cut", "devices": ["a"]},
        {"do": "partition", "devices": ["a"], "direction": "to-server"},
        {"do": "heal", "devices": ["a"]},
        {"do": "clog", "devices": ["a"], "ms": 700},
        {"do": "crash", "devices": ["a"]},
        {"do": "crash", "devices": ["a"], "power": true},
        {"do": "crash-at-commit", "devices": ["a"]},
        {"do": "restart", "devices": ["a"]},
        {"do": "sleep", "devices": ["a"], "ms": 60000},
        {"do": "crash-server"},
        {"do": "restart-server"},
        {"do": "store", "device": "a", "value": "full"},
        {"do": "store", "device": "server", "value": "working"},
        {"do": "backup", "device": "a", "label": "old"},
        {"do": "restore", "device": "a", "label": "old", "method": "memory"},
        {"do": "backup", "device": "server", "label": "old"},
        {"do": "restore", "device": "server", "label": "old"},
        {"do": "clone", "device": "a", "as": "c", "method": "directory"},
        {"do": "swap-servers"},
        {"do": "settings", "device": "a", "agent": "gated", "consent": true},
        {"do": "choose-host", "device": "a", "session": "s", "here": false},
        {"do": "choose-agent", "device": "a", "session": "s", "agent": "off"},
        {"do": "choose-agent", "device": "a", "session": "s"},
        {"do": "busy", "device": "a", "session": "s", "is": true},
        {"do": "gate", "device": "a", "session": "s", "open": false},
        {"do": "stop-agent", "device": "a", "session": "s"},
        {"do": "drain", "device": "a"},
        {"do": "clock", "device": "b", "offsetMs": -3600000},
        {"do": "clock", "device": "server", "offsetMs": 5},
        {"do": "advance", "ms": 1000},
        {"do": "settle"},
        {"expect": {"on": "all", "queue": {"session": "s", "messages": ["m1", "m2"]}}},
        {"expect": {"on": "a", "threads": ["s"], "paused": {"session": "s", "value": false}}},
        {"expect": {"on": "b", "text": {"message": "m2", "content": "x", "times": 3}}},
        {"expect": {"on": "b", "status": {"message": "m2", "value": "cancelled"}}},
        {"expect": {"on": "a", "error": "queueFull"}},
        {"expect": {"on": "all", "equal": true}}
      ]
    }

    """

  @Test func writtenScenariosAreReadAndWrittenAgain() throws {
    let scenario = try ScenarioParser.parse(Array(Self.everything.utf8))
    #expect(ScenarioWriter.text(of: scenario) == Self.everything)
  }

  @Test func theExampleHoldsEveryVerb() {
    for name in DeviceVerbParser.table.readings.map(\.name)
      + WorldVerbParser.table.readings.map(\.name)
    {
      #expect(Self.everything.contains("\"do\": \"\(name)\""), "\(name)")
    }
  }

  @Test func scenarioWithoutStepsIsWritten() throws {
    let text = "{\n  \"name\": \"n\",\n  \"devices\": [\"a\"],\n  \"steps\": []\n}\n"
    #expect(ScenarioWriter.text(of: try ScenarioParser.parse(Array(text.utf8))) == text)
  }
}
