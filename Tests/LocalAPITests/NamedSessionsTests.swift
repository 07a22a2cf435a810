import LocalAPI
import Testing

/// The name of a session is beside its id, whatever texts an answer has.
@Suite struct NamedSessionsTests {
  private func named(_ json: String) -> String {
    String(
      decoding: NamedSessions.added(to: Array(json.utf8)) { id in
        id == Array(#""gone""#.utf8) ? nil : Array(#""N \"1\"""#.utf8)
      }, as: UTF8.self)
  }

  @Test(arguments: [
    (#"{"session":"a"}"#, #"{"session":"a","sessionName":"N \"1\""}"#),
    (#"{"session":"a","x":1}"#, #"{"session":"a","sessionName":"N \"1\"","x":1}"#),
    (
      #"[{"session":"a"},{"session":"b"}]"#,
      #"[{"session":"a","sessionName":"N \"1\""},{"session":"b","sessionName":"N \"1\""}]"#
    ),
    (#"{"x":{"session":"q\"\\"}}"#, #"{"x":{"session":"q\"\\","sessionName":"N \"1\""}}"#),
  ])
  func theNameFollowsTheID(json: String, expected: String) {
    #expect(named(json) == expected)
  }

  @Test(arguments: [
    #"{"text":"\"session\":\"a\""}"#, #"{"text":"session"}"#, #"{"session":{"id":"a"}}"#,
    #"{"sessions":["a"]}"#, #"{"session":null}"#, #"{"session":"gone"}"#, #"{"a":"\\","b":"x"}"#,
    #"{"session":"a","sessionName":"own"}"#, #"{}"#, "", #"{"text":"cut"#, #""session":"#,
  ])
  func allElseStaysAsItIs(json: String) {
    #expect(named(json) == json)
  }
}
