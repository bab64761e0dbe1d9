"""Reads one conversation per line from standard input, and prints the answers that a framework received as a line of JSON."""

import base64
import json
import sys


class Conversation:
    """The texts for an agent in order, and the answers that the framework gave to its user."""

    def __init__(self, request):
        self.agent = request['agent']
        self.streams = request['streams']
        self.headers = request['headers']
        self.texts = list(request['texts'])
        file = request.get('file')
        self._file = file and {**file, 'data': base64.b64decode(file['data'])}
        self.card = None
        self.answers = []

    def next_text(self):
        return self.texts.pop(0)

    def take_file(self):
        """Returns the file at the first call, and None afterwards."""
        file, self._file = self._file, None
        return file

    def hear(self, state, text, files=()):
        self.answers.append({'state': state, 'text': text, 'files': list(files)})


def serve(converse):
    # Frameworks print anything, but standard output must contain only lines of JSON.
    output, sys.stdout = sys.stdout, sys.stderr
    print('ready', file=output, flush=True)
    for line in sys.stdin:
        conversation = Conversation(json.loads(line))
        try:
            converse(conversation)
        except Exception as error:
            conversation.hear('error', f'{type(error).__name__}: {error}')
        print(json.dumps({'card': conversation.card, 'answers': conversation.answers}), file=output, flush=True)
