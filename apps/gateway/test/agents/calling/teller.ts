// Repeats the history and the message in two chunks, or fails, splits a character or returns a file.
import type { NormalizedMessage, Part, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

const textPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const note: Part = {
  kind: 'file',
  name: 'note.txt',
  mime: 'text/plain',
  bytes_ref: { kind: 'inline', data_base64: 'aGk=' },
}

export async function* handle({ parts, history = [] }: NormalizedMessage): AsyncGenerator<string | PartialResponse> {
  const text = plainTextOf(parts)
  if (text === 'fail') throw new Error('secret detail')
  if (text === 'cut') {
    yield 'A balloon \ud83c'
    yield '\udf88 rises.'
  } else if (text === 'file') {
    yield { parts: [textPart('Here it is.'), note] }
  } else {
    const files = parts.flatMap(part => (part.kind === 'file' ? [`; a file ${part.mime}`] : []))
    yield `Before: ${history.map(({ role }) => role).join(' ')}; `
    yield `now: ${text}${files.join('')}`
  }
}
