import { Unavailable, Undeliverable } from '@postern/message'
import { expect, test } from 'vitest'
import { classifySmtpError } from './smtp-error.ts'

test.each([
  [
    { code: 'EAUTH', responseCode: 535, response: '535 5.7.8 no' },
    Unavailable,
    'the mail server did not accept our login or TLS (535 5.7.8)',
  ],
  [
    { code: 'EENVELOPE', message: 'Internationalized mailbox name not allowed' },
    Undeliverable,
    'the mail cannot be sent to this address (EENVELOPE)',
  ],
  [{ code: 'ETIMEDOUT' }, Unavailable, 'the mail server could not be reached (ETIMEDOUT)'],
  [undefined, Unavailable, 'the mail server could not be reached (unknown)'],
])('classifySmtpError() classifies %j', (error, kind, message) => {
  const classified = classifySmtpError(error)
  expect(classified).toBeInstanceOf(kind)
  expect(classified.message).toBe(message)
})

test('the stored reply contains no address, and no text of a refused login', () => {
  const refused = { code: 'EENVELOPE', responseCode: 550, command: 'RCPT TO' }
  const error = classifySmtpError({ ...refused, response: '550 5.1.1 <ann@forward.test>, ann@home.test: unknown' })
  expect(error.replyLine).toBe('550 5.1.1 <…>, … unknown')
  const login = classifySmtpError({ code: 'EAUTH', responseCode: 535, response: '535 5.7.8 hunter2 is wrong' })
  expect(login.replyLine).toBe('535 5.7.8')
})

test.each([
  ['the sender', 550, 'MAIL FROM', Unavailable],
  ['a mail that is too large', 552, 'MAIL FROM', Undeliverable],
  ['a recipient', 550, 'RCPT TO', Undeliverable],
  ['a recipient, for now', 450, 'RCPT TO', Unavailable],
])('a refusal of %s with %i at %s is temporary, or ends the mail', (_what, responseCode, command, kind) => {
  expect(
    classifySmtpError({ code: 'EENVELOPE', responseCode, command, response: `${responseCode} no` }),
  ).toBeInstanceOf(kind)
})
