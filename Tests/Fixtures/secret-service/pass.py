#!/usr/bin/python3
"""Starts pass_secret_service 0.1a0, for `Scripts/prove providers`.

usage: pass.py FOLDER --path STORE      the folder that pip has installed it into, with pypass; the store of pass, which has been made

It was written for an older cryptography, which took lists of numbers for bytes and had a function `int_from_bytes`.
"""
import sys

import cryptography.utils

cryptography.utils.int_from_bytes = int.from_bytes
sys.path.insert(0, sys.argv.pop(1))

from pass_secret_service.interfaces.session import Session
from pass_secret_service.pass_secret_service import main

decode = Session._decode_secret
Session._decode_secret = lambda session, secret: decode(session, [secret[0], bytes(secret[1]), bytes(secret[2]), secret[3]])

main()
