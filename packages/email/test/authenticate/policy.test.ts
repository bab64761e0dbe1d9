import { afterEach, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createForwardEmailWebhook, createMailgunWebhook } from '../setup/provider-requests.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

// These tests cover the treatment of unproven mail under the policy `reject` (EM-4.6), for each endpoint.

let gateway: MailGateway
let counter = 0
afterEach(() => gateway.close())

/** Returns an unsigned mail of a domain with `p=reject`. */
function composeForgery(): string {
  counter += 1
  return `From: Alice <alice@alice.test>\r\nTo: echo@${mailDomain}\r\nSubject: ${counter}\r\nMessage-ID: <p${counter}@alice.test>\r\n\r\nHello.\r\n`
}

const secret = 'a-secret-of-a-webhook'

async function deliverByMailgun(): Promise<string> {
  const timestamp = Math.floor(gateway.system.now() / 1000)
  const envelope = { from: 'bob@nodmarc.test', to: `echo@${mailDomain}` }
  const proof = { key: secret, timestamp, token: `token-${counter}` }
  const { headers, body } = createMailgunWebhook(Buffer.from(composeForgery()), envelope, proof)
  const url = '/email/inbound/mailgun'
  return `${(await gateway.channel.endpoint.routes.request(url, { method: 'POST', headers, body: new Uint8Array(body) })).status}`
}

async function deliverBySmtp(): Promise<string> {
  const client = await openSmtpClient(gateway.listening?.port ?? 0)
  await client.readReply()
  for (const line of [`${greeting} mx.test`, 'MAIL FROM:<bob@nodmarc.test>', `RCPT TO:<echo@${mailDomain}>`, 'DATA'])
    await client.sendLine(line)
  const reply = await client.sendLine(`${composeForgery()}.`)
  client.end()
  return reply.replace(/: .*/s, '').trim()
}
let greeting = 'LHLO'

type Endpoint = readonly [
  name: string,
  deliver: () => Promise<string>,
  protocol: 'lmtp' | 'smtp',
  refusalReply: string,
  acceptReply: string,
]

const endpoints: readonly Endpoint[] = [
  ['POST /email/inbound', async () => `${(await gateway.post(composeForgery())).status}`, 'lmtp', '403', '200'],
  ['a provider', deliverByMailgun, 'lmtp', '406', '200'],
  ['LMTP', deliverBySmtp, 'lmtp', '550 5.7.1 Cannot verify mail', '250 2.6.0 accepted'],
  ['SMTP', deliverBySmtp, 'smtp', '550 5.7.1 Cannot verify mail', '250 2.6.0 accepted'],
]

async function openEndpoint(protocol: 'lmtp' | 'smtp', trust = {}): Promise<void> {
  greeting = protocol === 'lmtp' ? 'LHLO' : 'EHLO'
  const config = { trust, listen: { port: 0, protocol }, providers: { mailgun: { signing_key: secret } } }
  gateway = await openMailGateway({ config })
}

test.each(endpoints)(
  'the gateway refuses p=reject mail at %s, and the operator sees why',
  async (_name, deliver, protocol, refusalReply) => {
    await openEndpoint(protocol)
    expect(await deliver()).toBe(refusalReply)
    expect(await gateway.store.listMessages({ limit: 1 })).toEqual([])
    expect(await gateway.store.listRefusals({ limit: 1 })).toMatchObject([
      { code: 'forbidden', reason: expect.stringContaining('the DMARC policy of the From domain is reject') },
    ])
  },
)

test.each(endpoints)(
  'with "dmarc_reject": "quarantine" the gateway accepts p=reject mail at %s and hides it from agents',
  async (_name, deliver, protocol, _refusalReply, acceptReply) => {
    await openEndpoint(protocol, { dmarc_reject: 'quarantine' })
    expect(await deliver()).toBe(acceptReply)
    expect(await gateway.readLatestMessage()).toMatchObject({
      state: 'ignored',
      flags: expect.arrayContaining(['dmarc_quarantine']),
      message: { sender: { verified: false } },
    })
  },
)

describe("a provider's verdict", () => {
  const deliverWithVerdict = async (trust_provider_verdict: boolean, dmarc: unknown) => {
    gateway = await openMailGateway({ config: { providers: { forwardemail: { secret, trust_provider_verdict } } } })
    const envelope = { from: 'bob@nodmarc.test', to: `echo@${mailDomain}` }
    const { headers, body } = createForwardEmailWebhook(Buffer.from(composeForgery()), envelope, secret, { dmarc })
    const url = '/email/inbound/forwardemail'
    return gateway.channel.endpoint.routes.request(url, { method: 'POST', headers, body: new Uint8Array(body) })
  }
  const passVerdict = { status: { result: 'pass' } }

  test('proves the author if the operator allows it, and the evidence names the server (EM-2.2)', async () => {
    expect((await deliverWithVerdict(true, passVerdict)).status).toBe(200)
    expect((await gateway.readLatestMessage()).message.sender).toMatchObject({
      verified: true,
      auth_method: 'email-dmarc',
      key_id: 'provider:forwardemail',
      identities: [{ subject: 'mailto:alice@alice.test', issuer: 'provider:forwardemail', assurance: 'domain' }],
    })
  })

  test.each([
    ['that the operator does not trust', false, passVerdict],
    ['other than pass', true, { status: { result: 'fail' } }],
    ['of another shape', true, 'pass'],
    ['that is absent', true, undefined],
  ])('%s proves nothing', async (_what, isTrusted, dmarc) => {
    const answer = await deliverWithVerdict(isTrusted, dmarc)
    const detail = expect.stringContaining('the DMARC policy of the From domain is reject')
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status: 422, body: { detail } })
    expect(await gateway.store.listMessages({ limit: 1 })).toEqual([])
  })
})
