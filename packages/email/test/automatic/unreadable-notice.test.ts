import type { Agent } from '@postern/pipeline'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// No agent can read these mails (EM-4.9), and their author is notified once.

const key = makeDkimKey(2048)
const mute: Agent = { handle: () => undefined }
let gateway: MailGateway
let counter = 0
afterEach(() => gateway.close())

const open = async (config = {}) => {
  gateway = await openMailGateway({ works: true, agents: { echo: mute, helper: mute }, config })
  for (const name of ['open.test', 'other.test'])
    gateway.simulation.dns.set(`s1._domainkey.${name}`, { TXT: [keyRecord(key)] })
}

const armour = '-----BEGIN PGP MESSAGE-----\r\n\r\nhQEMA\r\n-----END PGP MESSAGE-----\r\n'
const pgpMime = [
  'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b',
  '',
  '--b',
  'Content-Type: application/pgp-encrypted',
  '',
  'Version: 1',
  '--b',
  'Content-Type: application/octet-stream; name=encrypted.asc',
  '',
  `${armour}--b--`,
].join('\r\n')
const enveloped =
  'Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\nMIIB'
const exchanged = pgpMime.replace('encrypted; protocol="application/pgp-encrypted"', 'mixed')

interface Writing {
  readonly from?: string
  readonly header?: string
  readonly isSigned?: boolean
  readonly references?: string
}

const fields = ['from', 'to', 'subject', 'date', 'message-id', 'in-reply-to', 'references']

/** Writes a mail. `content` is the text after its header fields. */
async function write(
  content: string,
  { from = 'ann@open.test', header = '', isSigned = true, references }: Writing = {},
) {
  counter += 1
  const id = `u${counter}@open.test`
  const referenceFields = references ? `In-Reply-To: <${references}>\r\nReferences: <${references}>\r\n` : ''
  const message = `From: Ann <${from}>\r\nTo: echo@${mailDomain}\r\nSubject: Secret ${counter}\r\nDate: ${today}\r\nMessage-ID: <${id}>\r\n${referenceFields}${header}${content}\r\n`
  const signed = isSigned ? signText(message, { domain: from.split('@')[1] ?? '', key, fields }) : message
  expect((await gateway.post(signed, { to: `echo@${mailDomain}` })).status).toBe(200)
  return id
}

/** Reads the mail to the author of a message once no further one is expected. */
async function readSent(id: string) {
  await vi.waitFor(async () => {
    const record = await gateway.store.findMessage(id)
    expect(['answered', 'ignored']).toContain(record?.state)
    expect(record?.deliveries.every(({ state }) => state === 'sent')).toBe(true)
  })
  return (await gateway.store.findMessage(id))?.deliveries ?? []
}

const kinds: readonly (readonly [string, string])[] = [
  ['PGP/MIME', pgpMime],
  ['PGP/MIME that a server has taken apart', exchanged],
  ['PGP in the text', `\r\n${armour}`],
  ['S/MIME', enveloped],
]

describe('a proven author', () => {
  test.each(kinds)('gets a notice that the gateway cannot read a mail with %s', async (_what, content) => {
    await open({ quote: true })
    const id = await write(content)
    const notice = await gateway.simulation.mail.awaitReply(id, 30_000)
    expect(notice.envelope.to).toEqual(['ann@open.test'])
    expect(notice.headers.get('auto-submitted')).toEqual(['auto-replied'])
    expect(notice.headers.get('subject')).toEqual([`Re: Secret ${counter}`])
    expect(notice.text?.trim()).toBe(
      'This is an automatic reply: I cannot read encrypted mail. Please write to me without encryption.',
    )
    expect(await readSent(id)).toHaveLength(1)
    expect(gateway.receivedMessages.map(message => message.id)).toEqual([id])
  })

  test('gets the notice personally, despite their Reply-To', async () => {
    await open()
    const header = 'Reply-To: else@open.test\r\n'
    const id = await write(pgpMime, { header })
    expect((await gateway.simulation.mail.awaitReply(id, 30_000)).envelope.to).toEqual(['ann@open.test'])
    expect((await readSent(id)).map(({ to }) => to)).toEqual(['ann@open.test'])
  })

  test('gets the notice alone, from each agent of the mail', async () => {
    await open({ reply_all: true })
    const message = `From: ann@open.test\r\nTo: echo@${mailDomain}, helper@${mailDomain}\r\nCc: bob@other.test\r\nSubject: x\r\nMessage-ID: <many@open.test>\r\n${pgpMime}\r\n`
    const fields = ['from', 'to', 'cc', 'subject', 'message-id']
    const signed = signText(message, { domain: 'open.test', key, fields })
    await gateway.post(signed, { to: [`echo@${mailDomain}`, `helper@${mailDomain}`] })
    await vi.waitFor(() => expect(gateway.simulation.mail.received).toHaveLength(2))
    const sent = gateway.simulation.mail.received
    expect(sent.map(({ envelope }) => envelope.to)).toEqual([['ann@open.test'], ['ann@open.test']])
    expect(sent.flatMap(({ headers }) => [headers.get('to'), headers.get('cc')])).not.toContainEqual(
      expect.arrayContaining([expect.stringContaining('bob')]),
    )
  })

  test('gets the notice once in a conversation, and once a day (EM-4.1)', async () => {
    await open()
    const first = await write(pgpMime)
    const notice = await gateway.simulation.mail.awaitReply(first, 30_000)
    expect(await readSent(await write(pgpMime, { references: notice.messageId ?? '' }))).toEqual([])
    expect(await readSent(await write(pgpMime))).toEqual([])
    gateway.system.advance(24 * 3_600_000 + 1)
    expect(await readSent(await write(pgpMime, { references: first }))).toEqual([])
    expect(await readSent(await write(pgpMime))).toHaveLength(1)
    expect(await readSent(await write(pgpMime, { from: 'ann@other.test' }))).toHaveLength(1)
  })

  test('continues the conversation of the notice when they answer it', async () => {
    await open()
    const first = await write(pgpMime)
    const notice = await gateway.simulation.mail.awaitReply(first, 30_000)
    const second = await write('\r\nIn plain words.', { references: notice.messageId ?? '' })
    await readSent(second)
    const threads = await Promise.all([first, second].map(id => gateway.store.findMessage(id)))
    expect(threads[1]?.thread).toBe(threads[0]?.thread)
  })

  test('gets no second notice for a repeated mail', async () => {
    await open()
    const id = `again@open.test`
    const message = `From: ann@open.test\r\nTo: echo@${mailDomain}\r\nSubject: x\r\nMessage-ID: <${id}>\r\n${pgpMime}\r\n`
    const signed = signText(message, { domain: 'open.test', key, fields: ['from', 'to', 'subject', 'message-id'] })
    await gateway.post(signed, { to: `echo@${mailDomain}` })
    await readSent(id)
    gateway.system.advance(25 * 3_600_000)
    await gateway.post(signed, { to: `echo@${mailDomain}` })
    expect(await readSent(id)).toHaveLength(1)
  })
})

const silent: readonly (readonly [string, string, Writing])[] = [
  ['who is not proven', pgpMime, { isSigned: false }],
  ['by way of a list', pgpMime, { header: 'List-Id: <l.open.test>\r\n' }],
  ['automatically', pgpMime, { header: 'Auto-Submitted: auto-replied\r\n' }],
  ['in bulk', pgpMime, { header: 'Precedence: bulk\r\n' }],
  ['where nobody reads', pgpMime, { from: 'no-reply@open.test' }],
  ['words beside it', `\r\nHello.\r\n\r\n${armour}`, {}],
  ['with a signature only', '\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\nHello\r\n', {}],
]

test.each(silent)('a sender who writes %s gets no notice', async (_what, content, how) => {
  await open({ answer_lists: true, show_auto_replies: true })
  expect(await readSent(await write(content, how))).toEqual([])
})

test('nobody gets a notice with "encrypted_notice": false', async () => {
  await open({ encrypted_notice: false })
  expect(await readSent(await write(pgpMime))).toEqual([])
})
