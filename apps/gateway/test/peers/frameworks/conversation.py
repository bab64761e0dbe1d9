"""Reads conversations from standard input, one a line, and prints a line of JSON with what a framework heard in each."""

import base64
import json
import sys


class Conversation:
    """The texts for an agent, one after the other, and what the framework handed to its user."""

    def __init__(self, request):
        self.agent = request['agent']
        self.streams = request['streams']
        self.headers = request['headers']
        self.texts = list(request['texts'])
        file = request.get('file')
        self._file = file and {**file, 'data': base64.b64decode(file['data'])}
        self.card = None
        self.heard = []

    def next_text(self):
        return self.texts.pop(0)

    def take_file(self):
        """The file goes with the first text alone."""
        file, self._file = self._file, None
        return file

    def hear(self, state, text, files=()):
        self.heard.append({'state': state, 'text': text, 'files': list(files)})


def serve(converse):
    # Frameworks print what they like: the standard output is for lines of JSON alone.
    output, sys.stdout = sys.stdout, sys.stderr
    print('ready', file=output, flush=True)
    for line in sys.stdin:
        conversation = Conversation(json.loads(line))
        try:
            converse(conversation)
        except Exception as error:
            conversation.hear('error', f'{type(error).__name__}: {error}')
        print(json.dumps({'card': conversation.card, 'heard': conversation.heard}), file=output, flush=True)
