// Defines tools that return or attach files.
import type { ToolContext } from '../../src/index.ts'

const data_base64 = Buffer.alloc(300_000, 'report ').toString('base64')

export const report = {
  description: 'Returns a file beside other JSON',
  run: () => ({
    rows: 12,
    parts: [
      { kind: 'file', name: 'report.pdf', mime: 'application/pdf', bytes_ref: { kind: 'inline', data_base64 } },
      { kind: 'text', mime: 'text/plain', content: 'twelve rows' },
    ],
  }),
  preview: () => 'Write the report?',
}

const letter = {
  kind: 'file',
  name: 'a.txt',
  mime: 'text/plain',
  bytes_ref: { kind: 'inline', data_base64: 'aGVsbG8=' },
}

export const single = { description: 'Returns one file', run: () => letter }

export const list = {
  description: 'Returns a list of parts, and an entry of a folder',
  run: () => [letter, { kind: 'text', mime: 'text/plain', content: 'a letter' }, { kind: 'file', path: '/b' }],
}

export const sketch = {
  description: 'Attaches a picture by its bytes',
  run(_args: unknown, { attach }: ToolContext) {
    attach(Buffer.from('iVBORw0KGgo=', 'base64'), { name: 'sketch.png' })
    return 'drawn'
  },
}

export const torn = {
  description: 'Returns a file with bad base64',
  run: () => ({ parts: [{ kind: 'file', name: 'a', bytes_ref: { kind: 'inline', data_base64: '#' } }] }),
}

export const gone = {
  description: 'Attaches a file and fails',
  run(_args: unknown, { attach }: ToolContext) {
    attach(Buffer.from('x'))
    throw new Error('broken')
  },
}
