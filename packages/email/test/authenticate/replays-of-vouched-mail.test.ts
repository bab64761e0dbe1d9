import { createHmac } from 'node:crypto'
import { replayFlag } from '@postern/message'
import type { MessageRecord } from '@postern/pipeline'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

// A proof by a third party is valid for every copy of a mail, so the gateway must recognize replays. The third party is
// a trusted sealer, a server in front, a provider or SPF.

const key = createDkimKey(2048)
const author = 'ann@open.test'
const secret = 'the-secret-of-the-webhook'
const passResults = 'dkim=pass header.d=open.test; dmarc=pass header.from=open.test'
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  const trust = {
    arc_sealers: ['list.test'],
    spf_only: true,
    upstreams: [{ authserv_id: 'mx.front.test', endpoint: 'inbound' as const }],
  }
  const providers = { forwardemail: { secret, trust_provider_verdict: true } }
  gateway = await openMailGateway({ config: { trust, providers } })
  const { dns } = gateway.simulation
  dns.set('open.test', { A: ['192.0.2.1'], TXT: ['v=spf1 ip4:192.0.2.1 -all'] })
  dns.set('_dmarc.open.test', { TXT: ['v=DMARC1; p=none'] })
  for (const name of ['s1._domainkey.open.test', 'seal._domainkey.list.test']) dns.set(name, { TXT: [keyRecord(key)] })
})
afterAll(() => gateway.close())

interface Draft {
  readonly to?: string
  readonly cc?: string
  readonly ageDays?: number
}

function composeMail({ to = `echo@${mailDomain}`, cc, ageDays = 0 }: Draft = {}): string {
  counter += 1
  const date = new Date(gateway.system.now() - ageDays * 86_400_000).toUTCString()
  const fields = [`From: ${author}`, `To: ${to}`, ...(cc ? [`Cc: ${cc}`] : []), `Subject: ${counter}`, `Date: ${date}`]
  return `${[...fields, `Message-ID: <v${counter}@open.test>`].join('\r\n')}\r\n\r\nHello ${counter}.\r\n`
}

const sign = (message: string, fields: readonly string[]) => signText(message, { domain: 'open.test', key, fields })
/** Appends a footer to the body, as lists do, so that the author's own signature is no longer valid. */
const appendFooter = (message: string) => `${message}-- \r\nThe list\r\n`
const withAuthenticationResults = (message: string, results = passResults) =>
  `Authentication-Results: mx.front.test; ${results}\r\n${message}`

async function post(message: string, envelope = {}): Promise<void> {
  const to = `echo@${mailDomain}`
  expect((await gateway.post(Buffer.from(message, 'latin1'), { to, ...envelope })).status).toBe(200)
}

async function sealAsList(message: string, headerList = 'from:to:cc:subject:date:message-id'): Promise<string> {
  const privateKey = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const authResults = `list.test; dmarc=pass header.from=open.test`
  const sealing = { signingDomain: 'list.test', selector: 'seal', privateKey, authResults, cv: 'none', headerList }
  return `${await sealMessage(message, sealing)}${message}`
}

async function deliverByProvider(message: string): Promise<void> {
  const session = { sender: author, remoteAddress: '192.0.2.66', hostNameAppearsAs: 'mx.relay.test' }
  const dmarc = { status: { result: 'pass' } }
  const body = JSON.stringify({ raw: message, recipients: [`echo@${mailDomain}`], session, dmarc })
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-webhook-signature': signature }
  const url = '/email/inbound/forwardemail'
  const answer = await gateway.channel.endpoint.routes.request(url, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
}

const proofCases: readonly (readonly [title: string, keyId: RegExp, deliver: (message: string) => Promise<void>])[] = [
  ['a trusted sealer', /^arc:/, async message => post(await sealAsList(appendFooter(message)))],
  ['a server in front that removed the signature', /^authserv:/, message => post(withAuthenticationResults(message))],
  [
    'a server in front, for a signature that is no longer valid',
    /^authserv:/,
    message => post(withAuthenticationResults(appendFooter(sign(message, ['from', 'to', 'date', 'subject'])))),
  ],
  ['a provider', /^provider:/, deliverByProvider],
  ['SPF', /^spf:/, message => post(message, { from: author, ip: '192.0.2.1', helo: 'mx.open.test' })],
]

/** Returns the newest message, even if an older one has its id. */
async function readLatestRecord(): Promise<MessageRecord> {
  const [summary] = await gateway.store.listMessages({ limit: 1 })
  const record = await gateway.store.findMessage(`#${summary?.message}`)
  if (!record) throw new Error('nothing is stored')
  return record
}

const isFlaggedAsReplay = ({ message }: MessageRecord) => JSON.stringify(message.parts).includes(replayFlag)

describe.each(proofCases)('a mail proven by %s', (_title, keyId, deliver) => {
  test('is no replay when its author has just sent it to the agent', async () => {
    await deliver(composeMail())
    const record = await readLatestRecord()
    expect(record.message.sender).toMatchObject({ verified: true, key_id: expect.stringMatching(keyId) })
    expect(isFlaggedAsReplay(record)).toBe(false)
  })

  test.each<[string, Draft]>([
    ['it is older than five days', { ageDays: 6 }],
    ['it names another person', { to: 'bob@open.test', cc: `echo@${mailDomain}` }],
  ])('may be a replay when %s', async (_case, draft) => {
    await deliver(composeMail(draft))
    const record = await readLatestRecord()
    expect(record.message.sender).toMatchObject({ verified: true, key_id: expect.stringMatching(keyId) })
    expect(isFlaggedAsReplay(record)).toBe(true)
  })
})

test('a seal without To or without Date does not prove when the author wrote to the agent', async () => {
  for (const headerList of ['from:subject:date:message-id', 'from:to:subject:message-id']) {
    await post(await sealAsList(appendFooter(composeMail()), headerList))
    expect(isFlaggedAsReplay(await readLatestRecord())).toBe(true)
  }
})

test('a repeated seal counts as a replay at an agent that its mail does not name', async () => {
  const message = await sealAsList(appendFooter(composeMail({ to: 'bob@open.test' })))
  await post(message)
  await post(message, { to: `helper@${mailDomain}` })
  expect((await readLatestRecord()).flags).toContain('replayed_signature')
})

describe('a mail without To in its signature behind a trusted server', () => {
  const fields = ['from', 'date', 'subject', 'message-id']
  const deliverBehindServer = (spf: string) =>
    post(withAuthenticationResults(appendFooter(sign(composeMail(), fields)), `${spf}; ${passResults}`))

  test('may be a replay', async () => {
    await deliverBehindServer('spf=pass smtp.mailfrom=x@evil.test')
    expect(isFlaggedAsReplay(await readLatestRecord())).toBe(true)
  })

  test('is no replay if SPF shows that the author’s own server sent it', async () => {
    await deliverBehindServer('spf=pass smtp.mailfrom=ann@open.test')
    const record = await readLatestRecord()
    expect(record.flags).toEqual([])
    expect(isFlaggedAsReplay(record)).toBe(false)
  })
})
