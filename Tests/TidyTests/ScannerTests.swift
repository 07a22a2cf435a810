import Testing

/// The scanner that the other checks trust.
@Suite struct ScannerTests {
  @Test func commentsAndStringsAreBlanked() {
    let text = #"""
      let a = "} // not a comment"  // } a comment
      /* } /* } */ } */ let b = 1
      """#
    let code = SwiftText.blanked(text)
    #expect(!code.contains("}"))
    #expect(code.contains("let a ="))
    #expect(code.contains("let b = 1"))
    #expect(code.count == text.count)
  }

  @Test func linesAreKept() {
    let text = "let a = \"\"\"\n  { \\(b.map { \"}\" })\n  \"\"\"\nlet c = 1\n"
    let code = SwiftText.blanked(text)
    #expect(code.filter { $0 == "\n" }.count == text.filter { $0 == "\n" }.count)
    #expect(!code.contains("{"))
    #expect(code.contains("let c = 1"))
  }

  @Test func escapesAndInterpolationsDoNotEndAString() {
    let text = #"let a = "\" { \(b("}", [")"])) {"; let c = 1"#
    let code = SwiftText.blanked(text)
    #expect(!code.contains("{"))
    #expect(code.contains("; let c = 1"))
  }

  @Test func rawStringsAndRegexesAreBlanked() {
    let text = ##"let a = #"\" { "# + "x"; let r = #/a{2}"/#; let c = 1"##
    let code = SwiftText.blanked(text)
    #expect(!code.contains("{"))
    #expect(code.contains("; let c = 1"))
  }

  @Test func literalsAreCollected() {
    #expect(SwiftText.literals(#"f("one", "two \(x)")"#) == ["one", #"two \(x)"#])
  }

  @Test func commentsAreCollected() {
    let text = "let a = \"// no\"  // one\n/* two /* three */ */ let b = 1"
    #expect(SwiftText.comments(text) == ["// one", "/* two /* three */ */"])
  }

  @Test func functionsAreMeasured() {
    let code = """
      struct S {
        init(a: Int) { self.a = a }
        func one(
          b: () -> Void = {}
        ) {
          if a { b() }
        }
        subscript(index: Int) -> Int {
          index
        }
      }
      """
    #expect(
      FunctionLengths.functions(in: code) == [
        .init(name: "init", line: 2, length: 1),
        .init(name: "one", line: 3, length: 5),
        .init(name: "subscript", line: 8, length: 3),
      ])
  }

  @Test func requirementsHaveNoBody() {
    let code = """
      protocol P {
        func a() async throws -> [Int]
        func b<T>(_ t: T) where T: P
        var c: Int { get }
      }
      func d() { S.init(1) }
      """
    #expect(
      FunctionLengths.functions(in: code) == [.init(name: "d", line: 6, length: 1)])
  }

  @Test func manifestIsRead() {
    let text = """
      let rooms: [Room] = [
        Room(
          name: "A", path: "Sources/A", kind: .executable(product: "tool"),
          rooms: ["B", "C"],
          foreign: ["D"]),
        Room(name: "E", path: "Tests/E", extraSettings: [.x()]),
        test("ATests", ["A"], foreign: ["F"]),
        test(
          "BTests", []),
      ]
      """
    #expect(
      PackageManifest.rooms(in: text) == [
        .init(name: "A", path: "Sources/A", rooms: ["B", "C"], foreign: ["D"], product: "tool"),
        .init(name: "E", path: "Tests/E", rooms: [], foreign: [], product: nil),
        .init(name: "ATests", path: "Tests/ATests", rooms: ["A"], foreign: ["F"], product: nil),
        .init(name: "BTests", path: "Tests/BTests", rooms: [], foreign: [], product: nil),
      ])
  }
}
