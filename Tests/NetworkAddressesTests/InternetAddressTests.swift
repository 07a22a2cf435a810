import NetworkAddresses
import Testing

@Suite struct InternetAddressTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("::1", "::1"), ("::", "::"), ("::ffff:10.0.0.5", "10.0.0.5"),
    ("2001:DB8:0:0:1:0:0:7", "2001:db8::1:0:0:7"), ("fe80::1%eth0", "fe80::1"), ("1::", "1::"),
    ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
    ("::10.0.0.1", "::a00:1"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
  ])
  func addressesAreReadAndWritten(text: String, shown: String) throws {
    let address = try #require(InternetAddress(text))
    #expect(address.description == shown)
    #expect(InternetAddress(shown) == address)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "0x7f.0.0.1", "2130706433", "+1.2.3.4",
    "1:2:3", ":", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "::g", "::1.2.3",
    ":1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:", "1:2:3:4:5:6:7:8::", "[::1]", "localhost", "::-1",
  ])
  func otherTextsAreNone(text: String) {
    #expect(InternetAddress(text) == nil)
  }

  @Test(arguments: [
    ("127.8.9.1", AddressReach.loopback), ("::1", .loopback), ("0.0.0.0", .loopback),
    ("::ffff:127.0.0.1", .loopback), ("::", .loopback), ("10.1.2.3", .privateNetwork),
    ("172.31.0.1", .privateNetwork), ("172.32.0.1", .everywhere), ("192.168.1.5", .privateNetwork),
    ("100.100.1.1", .privateNetwork), ("fd00::1", .privateNetwork), ("169.254.169.254", .link),
    ("fe80::1", .link), ("224.0.0.1", .special), ("255.255.255.255", .special),
    ("64:ff9b::a00:1", .privateNetwork), ("2002:7f00:1::", .loopback), ("8.8.8.8", .everywhere),
    ("2606:4700::1111", .everywhere), ("ff02::1", .special), ("::7f00:1", .special),
  ])
  func theAddressShowsTheReach(text: String, reach: AddressReach) throws {
    #expect(try #require(InternetAddress(text)).reach == reach)
  }

  @Test func rangesHoldWhatBeginsWithTheSameBits() throws {
    let range = try #require(AddressRange("10.128.0.0/9"))
    #expect(range.contains(try #require(InternetAddress("10.200.0.1"))))
    #expect(!range.contains(try #require(InternetAddress("10.127.0.1"))))
    #expect(!range.contains(try #require(InternetAddress("::1"))))
    #expect(AddressRange("10.1.2.3/8")?.description == "10.0.0.0/8")
    #expect(AddressRange("::1")?.description == "::1")
    #expect(AddressRange("2001:db8::/33")?.description == "2001:db8::/33")
    for wrong in ["10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "x/8", "10.0.0.0/8/8", ""] {
      #expect(AddressRange(wrong) == nil, "\(wrong)")
    }
    #expect(InternetAddress("2001:db8::9")?.network == AddressRange("2001:db8::/64"))
    #expect(InternetAddress("192.0.2.1")?.network == AddressRange("192.0.2.1"))
  }
}
