// Streams a text with a file before, in or after it, as the message says.
import type { NormalizedMessage, Part } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'

const file: Part = {
  kind: 'file',
  name: 'hello.txt',
  mime: 'text/plain',
  bytes_ref: { kind: 'inline', data_base64: Buffer.from('hello').toString('base64') },
}

const answers: Readonly<Record<string, readonly AgentChunk[]>> = {
  between: ['Here ', 'it is:', { parts: [file] }, 'And ', 'more.'],
  last: ['Here ', 'it is.', { parts: [file] }],
  first: [{ parts: [file] }, 'That ', 'is it.'],
  bare: ['Here it is.', file],
  together: [{ parts: [{ kind: 'text', mime: 'text/markdown', content: 'Here it is.' }, file] }],
  called: [
    'Here ',
    { parts: [file] },
    { kind: 'tool_call', id: 'c', name: 'look', args: {}, result: 'found' },
    'and so on.',
  ],
  crowded: [
    'Here ',
    { parts: [file] },
    'it is.',
    { kind: 'tool_call', id: 'c', name: 'look', args: {}, result: 'found' },
    'And ',
    { kind: 'tool_call', id: 'd', name: 'look', args: {}, result: 'more' },
    'so on.',
  ],
  whole: ['Here ', { parts: [{ kind: 'text', mime: 'text/markdown', content: 'it is.' }, file] }],
}

export async function* handle({ parts }: NormalizedMessage): AsyncGenerator<AgentChunk> {
  for (const chunk of answers[plainTextOf(parts)] ?? []) {
    yield chunk
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
