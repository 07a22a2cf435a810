import ProxyTunnel
import Testing

@Suite struct ProxyAddressTests {
  private func proxy(_ variables: [String: String], _ host: String, isSecure: Bool = true) throws
    -> String?
  {
    try ProxyAddress.named(by: variables, for: host, isSecure: isSecure)?.place
  }

  @Test(arguments: [
    ("http://proxy.example:3128", "proxy.example:3128"),
    ("proxy.example:3128", "proxy.example:3128"),
    ("HTTP://proxy.example/", "proxy.example:80"),
    ("http://[2001:db8::1]:8080", "[2001:db8::1]:8080"),
    ("http://ann:se%40cret@10.0.0.1:3128", "10.0.0.1:3128"),
  ])
  func anHTTPProxyIsRead(text: String, place: String) {
    #expect(ProxyAddress(text)?.place == place)
  }

  @Test(arguments: [
    "socks5://proxy.example:1080", "https://proxy.example:443", "http://", "http://:3128", "",
    "http://proxy.example:0", "http://proxy.example:70000", "http://proxy.example/path", "a b:3128",
  ])
  func anythingElseIsRefused(text: String) {
    #expect(ProxyAddress(text) == nil)
    guard !text.isEmpty else { return }
    #expect(throws: ProxyAddress.Fault.notHTTP(variable: "HTTPS_PROXY")) {
      try proxy(["HTTPS_PROXY": text], "cospool.example")
    }
  }

  @Test func variablesCountAsForOtherPrograms() throws {
    let all = [
      "https_proxy": "lower:1", "HTTPS_PROXY": "upper:2", "ALL_PROXY": "all:3",
      "http_proxy": "no:4",
    ]
    #expect(try proxy(all, "cospool.example") == "lower:1")
    #expect(try proxy(all.filter { $0.key != "https_proxy" }, "cospool.example") == "upper:2")
    #expect(try proxy(all, "cospool.example", isSecure: false) == "all:3")
    #expect(try proxy(["http_proxy": "no:4"], "cospool.example", isSecure: false) == nil)
    #expect(try proxy(["https_proxy": ""], "cospool.example") == nil)
    #expect(
      ProxyAddress.variables(of: all).keys.sorted() == ["ALL_PROXY", "HTTPS_PROXY", "https_proxy"])
  }

  @Test(arguments: [
    ("*", "cospool.example", true), ("example", "cospool.example", true),
    (".example", "cospool.example", true), ("*.example", "cospool.example", true),
    ("a.org, cospool.example", "Cospool.Example", true), ("ample", "cospool.example", false),
    ("cospool.example.org", "cospool.example", false), ("10.0.0.0/8", "10.1.2.3", true),
    ("10.1.2.3", "10.1.2.3", true), ("10.0.0.0/8", "11.1.2.3", false), ("", "localhost", true),
    ("", "127.0.0.1", true), ("", "::1", true), (".", "cospool.example", false),
  ])
  func serversWithoutAProxyAreReachedDirectly(list: String, host: String, isDirect: Bool) throws {
    let variables = ["ALL_PROXY": "proxy:1", "NO_PROXY": list]
    #expect((try proxy(variables, host, isSecure: false) == nil) == isDirect)
  }

  /// The certificate of an address is checked against the connection's other end: the proxy.
  @Test func anAddressWithTLSNeedsItsName() throws {
    let variables = ["https_proxy": "proxy:1"]
    #expect(throws: ProxyAddress.Fault.certificateOfAddress(host: "192.0.2.1")) {
      try proxy(variables, "192.0.2.1")
    }
    #expect(try proxy(variables.merging(["no_proxy": "192.0.2.1"]) { $1 }, "192.0.2.1") == nil)
  }
}
