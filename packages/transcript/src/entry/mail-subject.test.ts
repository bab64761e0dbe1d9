import type { Part } from '@postern/message'
import { expect, test } from 'vitest'
import type { EntryBody } from '../index.ts'
import { aguiCodec, storeCodec, swarmCodec } from '../index.ts'

const words: Part = { kind: 'text', mime: 'text/plain', content: 'The second bike is late.' }
const mail = (subject?: string): EntryBody => ({
  entry_id: 'e1',
  thread_id: 't',
  scope: 'conversation',
  kind: 'text',
  role: 'user',
  content: { parts: [words, { kind: 'email', ...(subject !== undefined && { subject }) } as unknown as Part] },
  at: '2026-03-13T10:00:00.000Z',
})

test.each([
  [
    'agui',
    aguiCodec,
    [
      { type: 'text', text: 'Subject: Order 7' },
      { type: 'text', text: words.content },
    ],
  ],
  ['store', storeCodec, `Subject: Order 7\n\n${words.content}`],
  ['swarm', swarmCodec, `Subject: Order 7\n\n${words.content}`],
])('a message in the format %s keeps a mail’s subject', (_, codec, content) => {
  expect(codec.write([mail('Order 7')])).toMatchObject([{ content }])
})

test('an AG-UI message has no empty part for content without text there', () => {
  expect(aguiCodec.write([mail()])).toMatchObject([{ content: [{ type: 'text', text: words.content }] }])
  const onlyMail = { ...mail(), content: { parts: [{ kind: 'email' } as unknown as Part] } }
  expect(aguiCodec.write([onlyMail])).toMatchObject([{ content: '' }])
})
