import Foundation
import ProcessResources
import Testing

@Suite struct DescriptorLimitTests {
  #if os(Linux)
    @Test func theLimitOfDescriptorsIsRaised() throws {
      var limit = rlimit()
      try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
      let raised = try #require(DescriptorLimit.raise(to: 16_384))
      #expect(raised >= min(UInt64(limit.rlim_max), 16_384))
      var now = rlimit()
      try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now) == 0)
      #expect(UInt64(now.rlim_cur) == raised)
    }
  #endif
}
