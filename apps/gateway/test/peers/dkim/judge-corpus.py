"""Reads a corpus of signed mail, and writes dkimpy's verdict on each signature of each mail."""
import json
import sys

import dkim


def judge(entry):
    with open(entry["file"], "rb") as file:
        mail = file.read()
    records = {f"{name}.".encode(): text.encode() for name, text in entry["records"].items()}

    def find(name, timeout=5):
        return records.get((name if isinstance(name, bytes) else name.encode()).lower())

    def is_good(index):
        try:
            return bool(dkim.DKIM(mail, minkey=1024).verify(idx=index, dnsfunc=find))
        except Exception:  # an unreadable signature is not good
            return False

    return [is_good(index) for index in range(len(entry["isGood"]))]


with open(sys.argv[1]) as file:
    print(json.dumps([judge(entry) for entry in json.load(file)]))
