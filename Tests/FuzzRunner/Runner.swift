import Foundation
import Fuzzing

// Entry point of libFuzzer, which brings its own `main`.

/// Chosen once per process by COSPOOL_FUZZ_TARGET.
private let target: FuzzTarget = {
  let name = ProcessInfo.processInfo.environment["COSPOOL_FUZZ_TARGET"] ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
    end("COSPOOL_FUZZ_TARGET is \"\(name)\"; choose one of \(names)")
  }
  return target
}()

/// Ends the process with a message that release builds print as well.
private func end(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  abort()
}

/// Runs one input; a finding ends the process, and libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  do {
    try target.run(bytes)
  } catch {
    end("\(target.rawValue): \(error)")
  }
  return 0
}
