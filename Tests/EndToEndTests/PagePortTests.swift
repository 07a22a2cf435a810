import Foundation
import Testing

extension EndToEnd {
  /// S-31: while the daemon restarts, no other program gets the page's port.
  @Suite struct PagePortTests {
    /// A service manager like systemd: it keeps the given socket, and passes it to the next
    /// process.
    private static let manager = #"""
      import array, os, signal, socket, subprocess, sys
      folder, cospoold, cospool, data = sys.argv[1:]
      notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
      notify.bind(folder + "/notify")
      notify.settimeout(60)
      kept = {}

      def heard(word):
        """Reads what the daemon says until a word comes."""
        while True:
          text, more, _, _ = notify.recvmsg(4096, socket.CMSG_SPACE(4))
          lines = text.decode().split("\n")
          name = next((line[7:] for line in lines if line.startswith("FDNAME=")), None)
          if "FDSTOREREMOVE=1" in lines and name in kept: os.close(kept.pop(name))
          for level, kind, value in more:
            numbers = array.array("i"); numbers.frombytes(value[:4]); kept[name] = numbers[0]
          if word in lines: return

      def start():
        numbers = list(kept.values())
        command = f'LISTEN_PID=$$ exec "{cospoold}" --data "{data}" > "{folder}/daemon.log" 2>&1'
        environment = dict(os.environ, NOTIFY_SOCKET=folder + "/notify", LISTEN_FDS=str(len(numbers)), LISTEN_FDNAMES="page")
        process = subprocess.Popen(
          ["sh", "-c", command], env=environment, pass_fds=[3] if numbers else [],
          preexec_fn=lambda: [os.dup2(number, 3) for number in numbers])
        heard("READY=1")
        return process

      taken = socket.socket(); taken.bind(("127.0.0.1", 0)); port = taken.getsockname()[1]; taken.close()
      process = start()
      subprocess.run([cospool, "web", "--port", str(port), "--print", "--data", data], check=True, stdout=subprocess.DEVNULL)
      heard("FDSTORE=1")
      for round in range(2):
        process.send_signal(signal.SIGKILL if round else signal.SIGTERM); process.wait()
        other = socket.socket(); other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
          other.bind(("127.0.0.1", port)); other.listen(); print("taken")
        except OSError as error: print("kept")
        other.close()
        # Who comes meanwhile waits for the daemon.
        waiting = socket.create_connection(("127.0.0.1", port), timeout=60)
        waiting.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port)
        process = start()
        print(waiting.recv(12).decode())
      # Served in another way, at the port that is kept.
      subprocess.run(
        [cospool, "web", "--url", "https://desk.example.org", "--print", "--data", data], check=True, stdout=subprocess.DEVNULL)
      again = socket.create_connection(("127.0.0.1", port), timeout=60)
      again.sendall(b"GET / HTTP/1.1\r\nHost: desk.example.org\r\n\r\n")
      print(again.recv(12).decode())
      subprocess.run([cospool, "web", "off", "--data", data], check=True, stdout=subprocess.DEVNULL)
      notify.settimeout(1)
      for attempt in range(60):
        try: heard("nothing more")
        except TimeoutError: pass
        # A connection that was closed just now keeps the port as well, and does not count.
        other = socket.socket(); other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try: other.bind(("127.0.0.1", port)); other.listen(); print("free"); break
        except OSError: other.close()
      process.terminate(); process.wait()
      """#

    @Test func theManagerKeepsThePort() async throws {
      try await TestBed.run { bed in
        let script = bed.path("manager.py")
        try Data(Self.manager.utf8).write(to: URL(filePath: script))
        let arguments = [
          "python3", script, bed.directory, try Executables.path(of: "cospoold"),
          try Executables.path(of: "cospool"), bed.path("data"),
        ]
        let process = try bed.launch("/usr/bin/env", arguments, name: "manager")
        let output = try await bed.finish(process, arguments, within: 120).succeeded()
        let said = output.standardOutput.split(separator: "\n").map(String.init)
        #expect(
          said == ["kept", "HTTP/1.1 200", "kept", "HTTP/1.1 200", "HTTP/1.1 200", "free"],
          "\(output)")
      }
    }
  }
}
