import type { Agent } from '@postern/pipeline'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// No agent can read these mails (EM-4.9), and their author is notified once.

const key = createDkimKey(2048)
const silentAgent: Agent = { handle: () => undefined }
let gateway: MailGateway
let counter = 0
afterEach(() => gateway.close())

const openGateway = async (config = {}) => {
  gateway = await openMailGateway({ runsAgents: true, agents: { echo: silentAgent, helper: silentAgent }, config })
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
const smimeEncrypted =
  'Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\nMIIB'
const rebuiltPgpMime = pgpMime.replace('encrypted; protocol="application/pgp-encrypted"', 'mixed')

interface MailDraft {
  readonly from?: string
  readonly header?: string
  readonly isSigned?: boolean
  readonly references?: string
}

const fields = ['from', 'to', 'subject', 'date', 'message-id', 'in-reply-to', 'references']

/** Writes a mail. `content` is the text after its header fields. */
async function postMail(
  content: string,
  { from = 'ann@open.test', header = '', isSigned = true, references }: MailDraft = {},
) {
  counter += 1
  const id = `u${counter}@open.test`
  const referenceFields = references ? `In-Reply-To: <${references}>\r\nReferences: <${references}>\r\n` : ''
  const message = `From: Ann <${from}>\r\nTo: echo@${mailDomain}\r\nSubject: Secret ${counter}\r\nDate: ${today}\r\nMessage-ID: <${id}>\r\n${referenceFields}${header}${content}\r\n`
  const signedMail = isSigned ? signText(message, { domain: from.split('@')[1] ?? '', key, fields }) : message
  expect((await gateway.post(signedMail, { to: `echo@${mailDomain}` })).status).toBe(200)
  return id
}

/** Reads the mail to the author of a message once no further one is expected. */
async function listSentDeliveries(id: string) {
  await vi.waitFor(async () => {
    const record = await gateway.store.findMessage(id)
    expect(['answered', 'ignored']).toContain(record?.state)
    expect(record?.deliveries.every(({ state }) => state === 'sent')).toBe(true)
  })
  return (await gateway.store.findMessage(id))?.deliveries ?? []
}

const kinds: readonly (readonly [string, string])[] = [
  ['PGP/MIME', pgpMime],
  ['PGP/MIME that a server has taken apart', rebuiltPgpMime],
  ['PGP in the text', `\r\n${armour}`],
  ['S/MIME', smimeEncrypted],
]

describe('a proven author', () => {
  test.each(kinds)('gets a notice that the gateway cannot read a mail with %s', async (_what, content) => {
    await openGateway({ quote: true })
    const id = await postMail(content)
    const notice = await gateway.simulation.mail.awaitReply(id, 30_000)
    expect(notice.envelope.to).toEqual(['ann@open.test'])
    expect(notice.headers.get('auto-submitted')).toEqual(['auto-replied'])
    expect(notice.headers.get('subject')).toEqual([`Re: Secret ${counter}`])
    expect(notice.text?.trim()).toBe(
      'This is an automatic reply: I cannot read encrypted mail. Please write to me without encryption.',
    )
    expect(await listSentDeliveries(id)).toHaveLength(1)
    expect(gateway.receivedMessages.map(message => message.id)).toEqual([id])
  })

  test('gets the notice personally, despite their Reply-To', async () => {
    await openGateway()
    const header = 'Reply-To: else@open.test\r\n'
    const id = await postMail(pgpMime, { header })
    expect((await gateway.simulation.mail.awaitReply(id, 30_000)).envelope.to).toEqual(['ann@open.test'])
    expect((await listSentDeliveries(id)).map(({ to }) => to)).toEqual(['ann@open.test'])
  })

  test('gets the notice alone, from each agent of the mail', async () => {
    await openGateway({ reply_all: true })
    const message = `From: ann@open.test\r\nTo: echo@${mailDomain}, helper@${mailDomain}\r\nCc: bob@other.test\r\nSubject: x\r\nMessage-ID: <many@open.test>\r\n${pgpMime}\r\n`
    const fields = ['from', 'to', 'cc', 'subject', 'message-id']
    const signedMail = signText(message, { domain: 'open.test', key, fields })
    await gateway.post(signedMail, { to: [`echo@${mailDomain}`, `helper@${mailDomain}`] })
    await vi.waitFor(() => expect(gateway.simulation.mail.received).toHaveLength(2))
    const sentMails = gateway.simulation.mail.received
    expect(sentMails.map(({ envelope }) => envelope.to)).toEqual([['ann@open.test'], ['ann@open.test']])
    expect(sentMails.flatMap(({ headers }) => [headers.get('to'), headers.get('cc')])).not.toContainEqual(
      expect.arrayContaining([expect.stringContaining('bob')]),
    )
  })

  test('gets the notice once in a conversation, and once a day (EM-4.1)', async () => {
    await openGateway()
    const firstId = await postMail(pgpMime)
    const notice = await gateway.simulation.mail.awaitReply(firstId, 30_000)
    expect(await listSentDeliveries(await postMail(pgpMime, { references: notice.messageId ?? '' }))).toEqual([])
    expect(await listSentDeliveries(await postMail(pgpMime))).toEqual([])
    gateway.system.advance(24 * 3_600_000 + 1)
    expect(await listSentDeliveries(await postMail(pgpMime, { references: firstId }))).toEqual([])
    expect(await listSentDeliveries(await postMail(pgpMime))).toHaveLength(1)
    expect(await listSentDeliveries(await postMail(pgpMime, { from: 'ann@other.test' }))).toHaveLength(1)
  })

  test('continues the conversation of the notice when they answer it', async () => {
    await openGateway()
    const first = await postMail(pgpMime)
    const notice = await gateway.simulation.mail.awaitReply(first, 30_000)
    const secondId = await postMail('\r\nIn plain words.', { references: notice.messageId ?? '' })
    await listSentDeliveries(secondId)
    const threads = await Promise.all([first, secondId].map(id => gateway.store.findMessage(id)))
    expect(threads[1]?.thread).toBe(threads[0]?.thread)
  })

  test('gets no second notice for a repeated mail', async () => {
    await openGateway()
    const id = `again@open.test`
    const message = `From: ann@open.test\r\nTo: echo@${mailDomain}\r\nSubject: x\r\nMessage-ID: <${id}>\r\n${pgpMime}\r\n`
    const signed = signText(message, { domain: 'open.test', key, fields: ['from', 'to', 'subject', 'message-id'] })
    await gateway.post(signed, { to: `echo@${mailDomain}` })
    await listSentDeliveries(id)
    gateway.system.advance(25 * 3_600_000)
    await gateway.post(signed, { to: `echo@${mailDomain}` })
    expect(await listSentDeliveries(id)).toHaveLength(1)
  })
})

const cases: readonly (readonly [string, string, MailDraft])[] = [
  ['who is not proven', pgpMime, { isSigned: false }],
  ['by way of a list', pgpMime, { header: 'List-Id: <l.open.test>\r\n' }],
  ['automatically', pgpMime, { header: 'Auto-Submitted: auto-replied\r\n' }],
  ['in bulk', pgpMime, { header: 'Precedence: bulk\r\n' }],
  ['where nobody reads', pgpMime, { from: 'no-reply@open.test' }],
  ['words beside it', `\r\nHello.\r\n\r\n${armour}`, {}],
  ['with a signature only', '\r\n-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\nHello\r\n', {}],
]

test.each(cases)('a sender who writes %s gets no notice', async (_what, content, draft) => {
  await openGateway({ answer_lists: true, show_auto_replies: true })
  expect(await listSentDeliveries(await postMail(content, draft))).toEqual([])
})

test('nobody gets a notice with "encrypted_notice": false', async () => {
  await openGateway({ encrypted_notice: false })
  expect(await listSentDeliveries(await postMail(pgpMime))).toEqual([])
})
