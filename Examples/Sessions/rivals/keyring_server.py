"""The session server with Python's keyring, for comparison: sessions and tokens are items of the Secret Service.

usage: keyring_server.py PORT LIST

LIST is the property list in which version 1 stored the tokens. At launch, the server moves them to the keyring.

The keyring program writes its file before it answers, so it decides what survives. The server itself loses data where it
needs two steps: of two processes that create one session at the same time, both succeed, because the interface of keyring
has no call that creates an item only if there is none.
"""

import json
import os
import plistlib
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import keyring
import keyring.errors

SESSIONS, TOKENS = "org.example.sessions", "org.example.sessions.tokens"
NAME = re.compile(r"/(sessions|tokens)/([A-Za-z0-9_.-]{1,100})\Z")
change = threading.Lock()


def remove(service, name):
    """Removes an item. If there is none, it does nothing."""
    try:
        keyring.delete_password(service, name)
    except keyring.errors.PasswordDeleteError:
        pass


def move_tokens(path):
    """Moves the tokens of version 1 to the keyring, and then deletes the list."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        tokens = plistlib.load(file)["tokens"]
    for user, token in tokens.items():
        keyring.set_password(TOKENS, user, token)
    # A kill before this line repeats the move at the next launch.
    os.remove(path)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise the body of an answer waits for the acknowledgement of its header.
    disable_nagle_algorithm = True

    def respond(self, status, text=""):
        data = text.encode()
        self.send_response(status)
        # An answer with 204 has no body, and no length.
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)

    def handle_request(self, action):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        match = NAME.match(self.path)
        if not match or (self.command == "PUT" and not body):
            return self.respond(400)
        kind, name = match.groups()
        try:
            status, text = action(kind, name, body)
        except Exception as error:  # the keyring program is gone, for example
            self.log_message("%s", error)
            return self.respond(503)
        self.respond(status, text)

    def do_GET(self):
        if self.path == "/health":
            return self.respond(200, json.dumps({"isHealthy": True}))
        self.handle_request(self.get)

    def do_PUT(self):
        self.handle_request(self.put)

    def do_DELETE(self):
        self.handle_request(self.delete)

    @staticmethod
    def get(kind, name, _):
        value = keyring.get_password(SESSIONS if kind == "sessions" else TOKENS, name)
        return (404, "") if value is None else (200, value)

    @staticmethod
    def put(kind, name, body):
        if kind == "tokens":
            keyring.set_password(TOKENS, name, body)
            return 204, ""
        with change:
            if keyring.get_password(SESSIONS, name) is not None:
                return 409, ""
            keyring.set_password(SESSIONS, name, body)
        return 201, ""

    @staticmethod
    def delete(kind, name, _):
        remove(SESSIONS if kind == "sessions" else TOKENS, name)
        return 204, ""

    def log_request(self, code="-", size="-"):
        pass


if __name__ == "__main__":
    move_tokens(sys.argv[2])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
