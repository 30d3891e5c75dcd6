#!/usr/bin/python3
"""Becomes a kwalletd5 whose wallet is open, as a login with pam_kwallet5 leaves it: no dialogue asks for anything.

usage: kwallet.py <file with 56 bytes, the key of the wallet>

At a login, the PAM module gives kwalletd5 the wallet's key through a pipe, and the session's start gives it its environment through a
socket. Both are ready here before the program becomes kwalletd5; the wallet `kdewallet` is made if it is not there.
"""
import os
import socket
import sys
import tempfile


def main():
    with open(sys.argv[1], "rb") as file:
        key = file.read()
    keyEnd, keyBeginning = os.pipe()
    os.write(keyBeginning, key)
    os.close(keyBeginning)
    with tempfile.TemporaryDirectory() as folder:
        server = socket.socket(socket.AF_UNIX)
        server.bind(folder + "/environment")
        server.listen(1)
        client = socket.socket(socket.AF_UNIX)
        client.connect(folder + "/environment")
        # kwalletd inherits the environment of this program, so none is sent.
        client.close()
    for end in [keyEnd, server.fileno()]:
        os.set_inheritable(end, True)
    os.environ["PAM_KWALLET5_LOGIN"] = "1"
    os.execvp("kwalletd5", ["kwalletd5", "--pam-login", str(keyEnd), str(server.fileno())])


main()
