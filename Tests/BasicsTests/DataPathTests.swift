import Basics
import Testing

@Suite struct DataPathTests {
  @Test(
    arguments: [
      ("flag/", ["COSPOOL_DATA": "/env"], "flag"),
      (nil, ["COSPOOL_DATA": "/env/", "XDG_DATA_HOME": "/xdg", "HOME": "/h"], "/env"),
      ("", ["COSPOOL_DATA": "", "XDG_DATA_HOME": "/xdg", "HOME": "/h"], "/xdg/cospool"),
      (nil, ["XDG_DATA_HOME": "relative", "HOME": "/h"], "/h/.local/share/cospool"),
      (nil, [:], nil),
    ] as [(String?, [String: String], String?)])
  func orderIsOptionEnvironmentDefault(
    option: String?, environment: [String: String], expected: String?
  ) {
    #expect(DataPath.device.resolve(option: option, environment: environment) == expected)
  }

  @Test func theServerHasAPlaceOfItsOwn() {
    let environment = ["COSPOOL_DATA": "/env", "HOME": "/h"]
    #expect(
      DataPath.server.resolve(option: nil, environment: environment)
        == "/h/.local/share/cospool-server")
    #expect(
      DataPath.server.resolve(option: nil, environment: ["COSPOOL_SERVER_DATA": "/c"]) == "/c")
  }
}
