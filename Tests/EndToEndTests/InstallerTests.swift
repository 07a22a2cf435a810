import Foundation
import Testing

extension EndToEnd {
  /// Which sources and signatures of a release `install.sh` accepts.
  @Suite struct InstallerTests {
    /// A release with one script that prints its version, made and signed as by `make dist`.
    private static let release = """
      source Tests/Scripts/release.sh
      name=cospool-server-$version-linux-$(uname -m)
      mkdir -p "$OUT/$name/bin" "$OUT/$name/share/doc"
      printf '#!/bin/sh\\necho %s\\n' "$version" >"$OUT/$name/bin/cospool-server"
      chmod 0755 "$OUT/$name/bin/cospool-server"
      tar -C "$OUT" -cJf "$OUT/$name.tar.xz" "$name"
      sealed "$OUT"
      """

    private static func has(_ programs: String...) -> Bool {
      programs.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }
    }

    private func shell(
      _ script: String, in bed: TestBed, _ variables: [String: String] = [:]
    ) async throws -> Output {
      let root = Executables.root.path(percentEncoded: false)
      let words = ["-euc", "cd '\(root)'\n" + script]
      let process = try bed.launch(
        "/bin/bash", words, name: "shell",
        environment: ["OUT": bed.path("out"), "SOURCE_DATE_EPOCH": "1000000000"]
          .merging(variables) { $1 })
      return try await bed.finish(process, words)
    }

    private func install(
      _ words: [String], in bed: TestBed, _ variables: [String: String] = [:]
    ) async throws -> Output {
      let all = [bed.path("out/install.sh"), "--server", "--prefix", bed.path("target")] + words
      let process = try bed.launch("/bin/sh", all, name: "install.sh", environment: variables)
      return try await bed.finish(process, all)
    }

    private func isInstalled(in bed: TestBed) -> Bool {
      FileManager.default.fileExists(atPath: bed.path("target"))
    }

    /// An attacker who can write to the place of a release cannot sign its files.
    @Test func unsignedFilesAreNotInstalled() async throws {
      guard Self.has("curl", "xz", "gpg", "gpgv") else { return }
      try await TestBed.run { bed in
        let keys = ["GNUPGHOME": bed.path("keys")]
        let made = try await shell(
          """
          mkdir -m 0700 "$GNUPGHOME"
          for name in releases other; do
            gpg --batch --quiet --passphrase '' --quick-generate-key "$name@cospool.test" ed25519 sign never
            gpg --batch --export "$name@cospool.test" >"$GNUPGHOME/$name.gpg"
          done
          mkdir "$OUT"
          SIGNING_KEY=releases@cospool.test
          \(Self.release)
          gpgconf --kill gpg-agent
          """, in: bed, keys)
        #expect(made.isSuccess, "\(made)")
        let from = ["--from", "file://\(bed.path("out"))"]
        let other = try await install(from + ["--key", bed.path("keys/other.gpg")], in: bed)
        #expect(other.code == 1 && other.standardError.contains("did not sign"), "\(other)")
        // A file that was written again has the correct checksum, and no signature.
        let sums = bed.path("out/SHA256SUMS")
        let known = try Data(contentsOf: URL(filePath: sums))
        try (known + Data("\n".utf8)).write(to: URL(filePath: sums))
        let changed = try await install(from, in: bed)
        #expect(changed.code == 1 && changed.standardError.contains("did not sign"), "\(changed)")
        try known.write(to: URL(filePath: sums))
        let signature = bed.path("out/SHA256SUMS.sig")
        try FileManager.default.moveItem(atPath: signature, toPath: signature + ".away")
        #expect(try await install(from, in: bed).code == 1)
        #expect(!isInstalled(in: bed))
        try FileManager.default.moveItem(atPath: signature + ".away", toPath: signature)
        let done = try await install(from, in: bed)
        #expect(done.isSuccess && isInstalled(in: bed), "\(done)")
      }
    }

    /// An https release must not redirect root to a place where an attacker on the network chooses
    /// the files.
    @Test func httpsDownloadsStayWithHTTPS() async throws {
      guard Self.has("curl", "xz") else { return }
      try await TestBed.run { bed in
        let made = try await shell("mkdir \"$OUT\"\n" + Self.release, in: bed)
        #expect(made.isSuccess, "\(made)")
        for address in [
          "http://releases.example.org/cospool", "http://127.0.0.1.example.org/",
          "http://localhost.example.org/", "http://localhost:1@example.org/", "ftp://example.org/",
        ] {
          let refused = try await install(["--from", address], in: bed)
          #expect(refused.code == 1 && refused.standardError.contains("install: "), "\(refused)")
          #expect(!refused.standardError.contains("cannot be fetched"), "\(refused)")
        }
        let certificates = Executables.root.appending(path: "Tests/SyncServerTests/Certificates")
          .path(percentEncoded: false)
        let serving = try bed.launch(
          "/usr/bin/env",
          ["python3", "-uc", Self.server, bed.path("out"), certificates + "/localhost"],
          name: "releases")
        let ports = try await serving.line(holding: "ports ").split(separator: " ")
        let trusted = ["CURL_CA_BUNDLE": certificates + "/localhost.pem"]
        let led = try await install(["--from", "https://localhost:\(ports[1])"], in: bed, trusted)
        #expect(led.code == 1 && led.standardError.contains("cannot be fetched"), "\(led)")
        #expect(!isInstalled(in: bed))
        let plain = try await install(["--from", "http://localhost:\(ports[2])"], in: bed, trusted)
        #expect(plain.isSuccess && isInstalled(in: bed), "\(plain)")
      }
    }

    /// Serves a folder over http, and redirects there over TLS.
    private static let server = """
      import functools, http.server, ssl, sys, threading
      files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(
          http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
      class Leads(http.server.BaseHTTPRequestHandler):
          def do_GET(self):
              self.send_response(302)
              self.send_header("Location", f"http://127.0.0.1:{files.server_port}{self.path}")
              self.end_headers()
      leads = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leads)
      tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      tls.load_cert_chain(sys.argv[2] + ".pem", sys.argv[2] + ".key.pem")
      leads.socket = tls.wrap_socket(leads.socket, server_side=True)
      threading.Thread(target=leads.serve_forever, daemon=True).start()
      print("ports", leads.server_port, files.server_port)
      files.serve_forever()
      """
  }
}
