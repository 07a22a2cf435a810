"""A process that Cospool starts as an agent: it passes the bytes between Cospool and a fake of acp_fakes.py.

Usage: acp_relay.py SOCKET, at which the fake listens. The fake first writes a line `BYTES PID`: when so many bytes have
passed, in both directions together, the process PID is killed; 0 is this process. BYTES 0 kills nothing, and writes
SOCKET.lines: for each line that passed, its direction and the number of bytes up to its end.
"""

import os
import signal
import socket
import sys
import threading

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(f"{os.environ.get('COSPOOL_SESSION', '')} {os.environ.get('COSPOOL_ATTEMPT', '')}\n".encode())
header = b""
while not header.endswith(b"\n"):
    header += connection.recv(1)
left, victim = map(int, header.split())
lines = None if left else open(f"{sys.argv[1]}.lines", "w", buffering=1)
left = left or sys.maxsize
lock = threading.Lock()


def passed(data, direction, write):
    global left
    with lock:
        if lines:
            end = sys.maxsize - left
            for line in data.splitlines(keepends=True):
                end += len(line)
                print(direction, end, file=lines)
        room = data[:left]
        write(room)
        left -= len(room)
        if left == 0:
            left = sys.maxsize
            os.kill(victim or os.getpid(), signal.SIGKILL)
            write(data[len(room):])


def written(data):
    try:
        while data:
            data = data[os.write(1, data):]
    except OSError:
        os._exit(0)


def answers():
    while data := connection.recv(65536):
        passed(data, "from", written)
    os._exit(0)


threading.Thread(target=answers, daemon=True).start()
while data := os.read(0, 65536):
    passed(data, "to", connection.sendall)
os._exit(0)
