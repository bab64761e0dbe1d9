import { expect, test } from 'vitest'
import { mailLimitsSchema } from '../config/limits.ts'
import { scanHeaders } from '../mail/header.ts'
import { readThread } from './thread.ts'

function readThreadOf(fields: string) {
  const header = scanHeaders(Buffer.from(`${fields}\r\n\r\n`), mailLimitsSchema.parse({}))
  return readThread({ header, signedHeader: header }, 'd1g3st')
}

test('readThread() begins a thread with the message itself', () => {
  expect(readThreadOf('Message-ID: <a@x>')).toEqual({
    id: 'a@x',
    messageId: 'a@x',
    rootId: 'a@x',
    inReplyTo: undefined,
    references: [],
    aliases: [],
  })
})

test('readThread() takes the first reference as the root', () => {
  const thread = readThreadOf('Message-ID: <c@x>\r\nIn-Reply-To: <b@x>\r\nReferences: <a@x>\r\n <b@x>')
  expect(thread).toMatchObject({ rootId: 'a@x', inReplyTo: 'b@x', references: ['a@x', 'b@x'] })
})

test('readThread() takes the id of the answered mail when there are no references', () => {
  expect(readThreadOf('In-Reply-To: your mail <b@x> of today')).toMatchObject({ rootId: 'b@x', inReplyTo: 'b@x' })
})

test.each([
  ['no', 'Subject: x'],
  ['two', 'Message-ID: <a@x> <b@x>'],
  ['an unreadable', 'Message-ID: a@x'],
])('readThread() creates an id for a message with %s Message-ID', (_what, fields) => {
  expect(readThreadOf(fields)).toMatchObject({ id: 'sha256:d1g3st', messageId: undefined })
})

test('readThread() keeps the first and last of references with commas, junk and thousands of ids (EM-55)', () => {
  const ids = Array.from({ length: 4_000 }, (_, index) => `<${index}@x>`)
  const { references } = readThreadOf(`References: junk, ${ids.join(',')} <unfinished`)
  expect(references).toHaveLength(50)
  expect([references[0], references[4], references[5], references[49]]).toEqual(['0@x', '4@x', '3955@x', '3999@x'])
})

test('readThread() ignores an id that an answer could not quote in one line', () => {
  const long = `<${'x'.repeat(950)}@x>`
  expect(readThreadOf(`Message-ID: ${long}\r\nIn-Reply-To: ${long}`)).toMatchObject({
    id: 'sha256:d1g3st',
    references: [],
  })
})
