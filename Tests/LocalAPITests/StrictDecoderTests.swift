import Basics
import Testing

@testable import LocalAPI

@Suite struct StrictDecoderTests {
  private func decoded<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try StrictDecoder.decode(type, from: Array(text.utf8))
  }

  private func message(_ text: String) -> String {
    do {
      let request = try decoded(SendRequest.self, text)
      return "read: \(request)"
    } catch StrictDecoder.Fault.malformed(let fault) {
      return "\(fault)"
    } catch StrictDecoder.Fault.unknownField(let name, let known) {
      return "\(name) of \(known)"
    } catch StrictDecoder.Fault.unfit(let message) {
      return message
    } catch {
      return "\(error)"
    }
  }

  @Test func requestsAreRead() throws {
    let send = try decoded(
      SendRequest.self, #"{"text":"a\u00e9","attachments":[{"path":"/x"},{"name":"y"}]}"#)
    #expect(
      send
        == SendRequest(
          text: "aé",
          attachments: [AttachmentRequest(path: "/x"), AttachmentRequest(name: "y")]))
    #expect(try decoded(WaitRequest.self, #"{"timeoutSeconds":1.5}"#).timeoutSeconds == 1.5)
    #expect(try decoded(MoveRequest.self, #"{"ids":["a"],"to":2}"#).to == 2)
    #expect(try decoded(SettingRequest.self, #"{"value":true}"#).value == true)
    #expect(try decoded(SettingRequest.self, #"{"value":7}"#).value == 7)
  }

  private struct Wholes: Decodable, Equatable {
    var a: Int8, b: Int16, c: Int32, d: Int64, e: UInt8, f: UInt16, g: UInt32, h: UInt64, i: UInt
    var j: Float
  }

  /// A number of any width is read or refused: the decoder may not ask itself forever.
  @Test func numbersOfEveryWidthAreRead() throws {
    let text = #"{"a":-1,"b":-2,"c":-3,"d":-4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0.5}"#
    #expect(
      try decoded(Wholes.self, text)
        == Wholes(a: -1, b: -2, c: -3, d: -4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 0.5))
    #expect(throws: StrictDecoder.Fault.self) {
      try decoded(Wholes.self, text.replacing("\"e\":5", with: "\"e\":256"))
    }
    #expect(try decoded(UndoRequest.self, #"{"change":5}"#).change == 5)
  }

  @Test func faultsHaveTheirPlace() {
    #expect(message(#"{"text":"#) == "1:9: a value is missing at the end of the text")
    #expect(message(#"{"text":"a","text":"b"}"#).contains("1:13"))
    #expect(
      message("{\"text\":\"a\",\n \"urgent\":true}").contains("\"urgent\" (line 2, column 2)"))
    #expect(message(#"{"urgent":true}"#).contains("attachments"))
    #expect(
      message(#"{"text":"a","attachments":[{"pat":"/x"}]}"#).contains("mediaType"), "nested")
    #expect(message(#"{"text":1}"#).contains("text (line 1, column 9) has the wrong type"))
    #expect(
      message(#"{"text":"a","attachments":[{"path":3}]}"#).contains("attachments.0.path (line 1"))
    #expect(message(#"{"text":"a","id":null}"#).contains("\"id\" is null"))
    #expect(message("{}") == "The field text is missing.")
    #expect(message("[]").contains("JSON object"))
    #expect(message(#"{"text":"a"} x"#).contains("1:14"))
  }

  @Test(arguments: ["1.5", "99999999999999999999", "-0.1", "\"1\""])
  func numbersThatDoNotFitAreRefused(number: String) {
    #expect(throws: StrictDecoder.Fault.self) {
      try decoded(ThreadMoveRequest.self, #"{"to":\#(number)}"#)
    }
  }
}
