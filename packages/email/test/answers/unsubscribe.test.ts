import type { NormalizedMessage } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import { readMail } from '@postern/simulation'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
const submittedMails: Buffer[] = []

beforeAll(async () => {
  gateway = await openMailGateway({
    async submitMail(_, octets) {
      submittedMails.push(Buffer.from(octets))
      return { response: '250 2.0.0' }
    },
  })
})
afterAll(() => gateway.close())

let count = 0
/** Delivers an agent's unasked mail or an answer. */
function deliver(mailbox: string, { isLetter = true, agent = 'echo' } = {}): Promise<unknown> {
  count += 1
  const id = String(count).padStart(32, '0')
  const delivery: Delivery = {
    id: `d${count}`,
    token: 1,
    attempt: 1,
    queuedAt: 0,
    via: 'email',
    agent,
    to: mailbox,
    target: { mailbox, recipient: mailbox, subject: 'News', references: [], ...(isLetter && { is_letter: true }) },
    correlationId: 'c',
    message: { sender: { address: `@${agent}@${mailDomain}` } } as NormalizedMessage,
    response: {
      id,
      thread_id: id,
      in_reply_to: id,
      sender: `@${agent}@${mailDomain}`,
      parts: [{ kind: 'text', mime: 'text/plain', content: 'News of today.' }],
      status: 'completed',
      created_at: new Date(gateway.system.now()).toISOString(),
    },
  }
  return gateway.channel.prepare(delivery).transmit()
}

async function deliverAndRead(mailbox: string, options = {}) {
  await deliver(mailbox, options)
  const octets = submittedMails.at(-1) ?? Buffer.alloc(0)
  return { octets, ...readMail(octets) }
}

const readUnsubscribeLink = (mail: { headers: ReadonlyMap<string, readonly string[]> }) =>
  /^<(https:\/\/[^>]+)>$/.exec(mail.headers.get('list-unsubscribe')?.[0] ?? '')?.[1] ?? ''
const requestPage = (url: string, init?: RequestInit) => gateway.channel.endpoint.routes.fetch(new Request(url, init))
const clickLink = (url: string) =>
  requestPage(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  })

test('an unsolicited mail of an agent has a one-click link that both signatures cover (RFC 8058)', async () => {
  const mail = await deliverAndRead('ann@people.test')
  expect(readUnsubscribeLink(mail)).toMatch(/^https:\/\/agents\.test\/email\/unsubscribe\/echo\/[\w.-]+$/)
  expect(mail.headers.get('list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click'])
  const keys = (await gateway.channel.keys?.list()) ?? []
  const { results } = await dkimVerify(mail.octets, {
    curTime: new Date(gateway.system.now()),
    resolver: async (name: string) => keys.flatMap(({ dns }) => (dns?.name === name ? [[dns.value]] : [])),
  } as Parameters<typeof dkimVerify>[1])
  expect(results.map(({ status }) => status.result)).toEqual(['pass', 'pass'])
  for (const signatureField of mail.headers.get('dkim-signature') ?? []) {
    const names = (/;\s*h=([^;]+);/.exec(signatureField)?.[1] ?? '').replace(/\s/g, '').split(':')
    expect(names).toEqual(expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post']))
  }
})

test('an answer has no unsubscribe link', async () => {
  const { headers } = await deliverAndRead('ann@people.test', { isLetter: false })
  expect([headers.has('list-unsubscribe'), headers.has('list-unsubscribe-post')]).toEqual([false, false])
})

test('one click ends only unsolicited mail of that agent to that person', async () => {
  const url = readUnsubscribeLink(await deliverAndRead('bob@people.test'))
  expect((await clickLink(url)).status).toBe(200)
  await expect(deliver('bob@people.test')).rejects.toThrow(Undeliverable)
  await expect(deliver('Bob@people.test')).rejects.toThrow(/suppressed \(unsubscribed\)/)
  await deliver('bob@people.test', { isLetter: false })
  await deliver('bob@people.test', { agent: 'helper' })
  await deliver('ann@people.test')
})

test('the choice remains when the person writes to the agent, until the operator lifts it', async () => {
  const { mail } = await gateway.postMail({ from: 'alice@alice.test' })
  expect(mail).toBeDefined()
  const url = readUnsubscribeLink(await deliverAndRead('alice@alice.test'))
  await clickLink(url)
  expect((await clickLink(url)).status).toBe(200)
  await gateway.postMail({ from: 'alice@alice.test' })
  expect((await gateway.readLatestMessage()).message.sender.verified).toBe(true)
  await expect(deliver('alice@alice.test')).rejects.toThrow(/unsubscribed/)
  expect(await gateway.channel.peers?.liftSuppression?.('echo', 'unasked:alice@alice.test')).toBe(true)
  await deliver('alice@alice.test')
  await clickLink(url)
  await expect(deliver('alice@alice.test')).rejects.toThrow(/unsubscribed/)
})

test('a link that a scanner opens only shows a question', async () => {
  const url = readUnsubscribeLink(await deliverAndRead('cid@people.test'))
  const page = await requestPage(url)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  expect(await page.text()).toContain('<button name="List-Unsubscribe" value="One-Click">')
  expect((await requestPage(url, { method: 'POST', body: 'x=y' })).status).toBe(400)
  await deliver('cid@people.test')
})

test('the endpoint accepts multipart like a form', async () => {
  const url = readUnsubscribeLink(await deliverAndRead('dan@people.test'))
  const body = new FormData()
  body.set('List-Unsubscribe', 'One-Click')
  expect((await requestPage(url, { method: 'POST', body })).status).toBe(200)
  await expect(deliver('dan@people.test')).rejects.toThrow(/unsubscribed/)
})

test('nobody can create a link for another mailbox', async () => {
  const url = readUnsubscribeLink(await deliverAndRead('eve@people.test'))
  const [agentPath = '', token = ''] = [url.slice(0, url.lastIndexOf('/')), url.slice(url.lastIndexOf('/') + 1)]
  const signature = token.split('.')[1]
  const otherToken = `${Buffer.from('fay@people.test').toString('base64url')}.${signature}`
  for (const wrongUrl of [
    `${agentPath}/${otherToken}`,
    url.replace('/echo/', '/helper/'),
    `${agentPath}/x`,
    `${url}0`,
  ]) {
    expect((await clickLink(wrongUrl)).status).toBe(404)
  }
  await deliver('fay@people.test')
})
