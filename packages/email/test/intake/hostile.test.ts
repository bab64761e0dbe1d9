import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quoteBounceAddresses } from '../../src/tokens/bounce-address.ts'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// In these attacks, the attacker once received a mail that proves its author permanently.

const key = createDkimKey(2048)
let counter = 0
let gateway: MailGateway

beforeAll(async () => {
  gateway = await openMailGateway()
  gateway.simulation.dns.set('_dmarc.open.test', { TXT: ['v=DMARC1; p=none'] })
  gateway.simulation.dns.set('s1._domainkey.open.test', { TXT: [keyRecord(key)] })
})
afterAll(() => gateway.close())

function composeMail(): string {
  counter += 1
  const id = `<h${counter}@open.test>`
  return `From: ann@open.test\r\nTo: echo@${mailDomain}\r\nSubject: Please\r\nDate: ${today}\r\nMessage-ID: ${id}\r\n\r\nPay ${counter}.\r\n`
}

const sign = (message: string) => signText(message, { domain: 'open.test', key })
const postAndReadOutcomes = async (message: string, envelope = {}) =>
  (await gateway.post(message, { to: `echo@${mailDomain}`, ...envelope })).body.messages

const [accepted, duplicate] = [[{ outcome: 'accepted' }], [{ outcome: 'duplicate' }]]

describe('a signed mail is one turn (EM-25)', () => {
  test.each(['X-Copy: 2', 'Comments: again', 'References: <x@open.test>', 'X-Mailer: y\r\nX-Copy: 3'])(
    'despite any field that an attacker adds: %s',
    async field => {
      const message = sign(composeMail())
      expect(await postAndReadOutcomes(message)).toEqual(accepted)
      expect(await postAndReadOutcomes(`${field}\r\n${message}`)).toEqual(duplicate)
    },
  )

  test('despite white space that an attacker adds to its signature', async () => {
    const message = sign(composeMail())
    expect(await postAndReadOutcomes(message)).toEqual(accepted)
    expect(message.replace('; b=', '; b= ')).not.toBe(message)
    expect(await postAndReadOutcomes(message.replace('; b=', '; b= '))).toEqual(duplicate)
  })

  test('but two mails of the same text are two turns', async () => {
    const message = composeMail()
    expect(await postAndReadOutcomes(sign(message))).toEqual(accepted)
    expect(await postAndReadOutcomes(sign(message.replace(/<h/, '<again-h')))).toEqual(accepted)
  })
})

test('a mail with a known Message-ID but other text is a new message, with a flag', async () => {
  const composeReusedId = (text: string) =>
    `From: bob@nodmarc.test\r\nTo: echo@${mailDomain}\r\nMessage-ID: <reused@nodmarc.test>\r\n\r\n${text}\r\n`
  const outcomes: unknown[] = []
  for (const text of ['First.', 'Second.', 'First.'])
    outcomes.push((await gateway.post(composeReusedId(text))).body.messages)
  expect(outcomes).toEqual([[{ outcome: 'accepted' }], [{ outcome: 'accepted' }], [{ outcome: 'duplicate' }]])
  const [second, first] = await gateway.store.listMessages({ limit: 2 })
  const flagsOf = async (message = 0) => (await gateway.store.findMessage(`#${message}`))?.flags
  expect([await flagsOf(first?.message), await flagsOf(second?.message)]).toEqual([[], ['message_id_reused']])
})

describe('a stored copy does not replace the mail (EM-25)', () => {
  test.each([
    ['with an empty Return-Path', (message: string) => `Return-Path: <>\r\n${message}`, {}],
    ['by the null sender', (message: string) => message, { from: '' }],
    ['with a mark of machines', (message: string) => `Auto-Submitted: auto-replied\r\n${message}`, {}],
    ['with a second Subject', (message: string) => `Subject: Other\r\n${message}`, {}],
  ])('%s', async (_, disguise, envelope) => {
    const message = sign(composeMail())
    expect(await postAndReadOutcomes(disguise(message), envelope)).toEqual(accepted)
    expect((await gateway.readLatestMessage()).state).toBe('ignored')
    expect(await postAndReadOutcomes(message, { from: 'ann@open.test' })).toEqual(accepted)
    expect((await gateway.readLatestMessage()).state).toBe('received')
    expect(await postAndReadOutcomes(message, { from: 'ann@open.test' })).toEqual(duplicate)
  })
})

test('white space may follow a field name, and nothing else (EM-29)', async () => {
  const refused = { status: 400, body: { detail: 'Cannot read mail: a header line is not a field' } }
  for (const end of ['\x0b', '\x0c', '\xa0']) {
    expect(await gateway.post(Buffer.from(composeMail().replace('From:', `From${end}:`), 'latin1'))).toMatchObject(
      refused,
    )
  }
  expect((await gateway.post(composeMail().replace('From:', 'From \t:'))).status).toBe(200)
})

test('the gateway refuses expensive recipients without reading them (EM-43)', async () => {
  const quotes = `Cc: ${'"'.repeat(60_000)}\r\n`
  expect(await gateway.post(`${quotes}${quotes}${composeMail()}`)).toMatchObject({
    status: 400,
    body: { code: 'malformed', detail: 'Cannot read mail: its recipients are too long' },
  })
})

test('each agent checks at most fifty of a complaint’s bounce addresses (EM-65)', () => {
  const addresses = quoteBounceAddresses(`x +b.d1.${'0'.repeat(20)}@agents.test `.repeat(40_000))
  expect(addresses.split(' ')).toEqual(Array(50).fill(`+b.d1.${'0'.repeat(20)}@`))
})
