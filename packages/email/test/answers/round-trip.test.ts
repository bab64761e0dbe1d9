import { Resolver } from 'node:dns/promises'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway

beforeAll(async () => {
  gateway = await openMailGateway({ config: { listen: { port: 0 } }, runsAgents: true })
})
afterAll(() => gateway.close())

test('the agent answers a signed mail by SMTP, and the signed answer stays in the thread', async () => {
  const { mail: sender, dns } = gateway.simulation
  const { mail, answer } = await sender.deliver({
    to: `echo@${mailDomain}`,
    subject: 'AW: Lunch',
    text: 'Are you *there*?',
    references: ['root@alice.test'],
  })
  expect(answer).toBe(250)

  const reply = await sender.awaitReply(mail.messageId, 30_000)
  expect(reply.text?.trim()).toBe('Are you *there*?')
  expect(reply.html).toContain('<em>there</em>')
  expect(reply.envelope).toEqual({
    from: expect.stringMatching(/^echo\+b\.\d+\.[0-9a-f]{20}@agents\.test$/),
    to: ['alice@alice.test'],
  })
  const header = (name: string) => reply.headers.get(name)?.[0]
  expect(header('from')).toBe(`Echo the Agent <echo@${mailDomain}>`)
  expect(header('to')).toBe('Alice <alice@alice.test>')
  expect(header('subject')).toBe('Re: Lunch')
  expect(reply.references).toEqual(['root@alice.test', mail.messageId])
  expect(header('auto-submitted')).toBe('auto-replied')
  expect(header('x-auto-response-suppress')).toBe('All')
  expect(reply.messageId).toMatch(/^[0-9a-f]{32}@agents\.test$/)

  for (const { dns: record } of (await gateway.channel.keys?.list()) ?? []) {
    if (record?.name.includes('_domainkey')) dns.set(record.name, { TXT: [record.value] })
  }
  const resolver = new Resolver()
  resolver.setServers([...gateway.simulation.network.dns])
  const { results } = await dkimVerify(reply.octets, {
    strict: true,
    resolver: (name, type) => resolver.resolve(name, type) as never,
  })
  expect(results.map(({ status, signingDomain, algo }) => [status.result, signingDomain, algo])).toEqual([
    ['pass', mailDomain, 'rsa-sha256'],
    ['pass', mailDomain, 'ed25519-sha256'],
  ])
  expect(results[0]?.signingHeaders?.keys.toLowerCase().split(': ')).toEqual(
    expect.arrayContaining([
      'from',
      'to',
      'subject',
      'date',
      'message-id',
      'in-reply-to',
      'references',
      'auto-submitted',
    ]),
  )

  const record = await gateway.store.findMessage(mail.messageId)
  expect(record?.message.sender).toMatchObject({
    address: '@alice@alice.test',
    display_name: 'Alice',
    auth_method: 'email-dmarc',
    verified: true,
    key_id: 'd=alice.test/s=sim',
    identities: [
      {
        subject: 'mailto:alice@alice.test',
        issuer: 'alice.test',
        assurance: 'address',
        audience: `@echo@${mailDomain}`,
      },
    ],
  })
  expect(record?.proofs.map(({ kind, verdict }) => [kind, verdict])).toEqual([
    ['dkim', 'pass'],
    ['spf', 'pass'],
    ['dmarc', 'pass'],
  ])
  expect(record?.deliveries).toMatchObject([{ to: 'alice@alice.test', state: 'sent', attempts: 1 }])
})
