#!/usr/bin/env python3
"""tools/rolling_restart.py [REQUESTS [LAME_DUCK]] restarts three vig servers one after the other, again and again, while clients
send requests to nginx in front of them (examples/serve/nginx.conf), and counts the responses. Ends with status 1
when one request is lost or its response differs. The default is 10000 requests and --lame-duck-seconds 1. VIG names
the folder of the programs, by default build/developer/bin."""

import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENTS = 8
PAUSE = 0.01  # seconds of a client between two requests


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


class Server:
    def __init__(self, program, model, port, lame_duck, log):
        self.command = [program, "serve", "-m", model, "--port", str(port), "--threads", "1", "--log", "none",
                        "--lame-duck-seconds", str(lame_duck)]
        self.port, self.log, self.process, self.restarts = port, log, None, -1
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        self.restarts += 1
        for _ in range(3000):
            if get(self.port, "/ready") == 200:
                return
            time.sleep(0.01)
        raise SystemExit("a server does not start")

    def restart(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        if status != 0:
            raise SystemExit(f"a server ended with status {status}")
        self.start()


class Load:
    def __init__(self, port, image, requests):
        self.port, self.image, self.left = port, image, requests
        self.lock, self.counts, self.bodies, self.times = threading.Lock(), {}, set(), []

    def count(self, what, seconds):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1
            self.times.append(seconds)

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while True:
            with self.lock:
                if self.left == 0:
                    return
                self.left -= 1
            begin = time.monotonic()
            try:
                connection.request("POST", "/v1/classify?top=1", self.image, {"Content-Type": "image/png"})
                response = connection.getresponse()
                body = response.read()
                self.count(response.status, time.monotonic() - begin)
                if response.status == 200:
                    with self.lock:
                        self.bodies.add(body)
            except (OSError, http.client.HTTPException) as error:
                self.count(type(error).__name__, time.monotonic() - begin)
                connection.close()
            time.sleep(PAUSE)


def find_nginx():
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    if shutil.which("nginx", path=path) is None:
        install = 'root=$1; source "$1/tools/prepare.sh"; install_packages balancer'
        subprocess.run(["bash", "-euc", install, "bash", str(ROOT)], check=True)
    nginx = shutil.which("nginx", path=path)
    if nginx is None:
        raise SystemExit("nginx is not installed (Debian package: nginx)")
    return nginx


def start_nginx(folder, port, servers):
    text = (ROOT / "examples/serve/nginx.conf").read_text(encoding="utf-8")
    for i, server in enumerate(servers):
        text = text.replace(f"127.0.0.1:{8081 + i} ", f"127.0.0.1:{server} ")
    text = text.replace("listen 127.0.0.1:8080;", f"listen 127.0.0.1:{port};")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    text = text.replace("http {\n", "http {\n" + paths, 1)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return subprocess.Popen([find_nginx(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g",
                             f"daemon off; pid {folder}/pid; error_log {folder}/error.log;"],
                            stderr=subprocess.DEVNULL)


def run(folder, requests, lame_duck):
    programs = pathlib.Path(os.environ.get("VIG", ROOT / "build/developer/bin"))
    model = folder / "mini.safetensors"
    subprocess.run([programs / "vig", "convert", ROOT / "tests/fixtures/golden/vig-mini-silu.pth", model, "--arch",
                    "test_vig"], check=True)
    port, *ports = free_ports(4)
    servers, nginx = [], None
    try:
        with open(folder / "log", "wb") as log:
            for one in ports:
                servers.append(Server(programs / "vig-serve", model, one, lame_duck, log))
        nginx = start_nginx(folder, port, ports)
        while get(port, "/ready") != 200:
            time.sleep(0.01)
        load = Load(port, (ROOT / "tests/fixtures/image/photos/pixel_1x1.png").read_bytes(), requests)
        clients = [threading.Thread(target=load.run) for _ in range(CLIENTS)]
        begin = time.monotonic()
        for client in clients:
            client.start()
        turn = 0
        while any(client.is_alive() for client in clients):
            with open(folder / "log", "ab") as log:
                servers[turn % 3].log = log
                servers[turn % 3].restart()
            turn += 1
        for client in clients:
            client.join()
        seconds = time.monotonic() - begin
    finally:
        for process in [server.process for server in servers] + ([nginx] if nginx else []):
            process.terminate()
            process.wait()
    errors = (folder / "error.log").read_text(encoding="utf-8", errors="replace")
    retried = len(re.findall(r"while (?:connecting to|reading response header from|sending request to) upstream", errors))
    times = sorted(load.times)
    print("| requests | clients | lame duck | restarts | seconds | responses | retried by nginx | median ms | longest ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    found = ", ".join(f"{count} x {what}" for what, count in sorted(load.counts.items(), key=str))
    print(f"| {requests} | {CLIENTS} | {lame_duck:g} s | {turn} | {seconds:.0f} | {found} | {retried} | "
          f"{1000 * times[len(times) // 2]:.1f} | {1000 * times[-1]:.0f} |")
    return load.counts == {200: requests} and len(load.bodies) == 1 and turn >= 3


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    lame_duck = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if run(pathlib.Path(folder), requests, lame_duck) else 1


if __name__ == "__main__":
    sys.exit(main())
