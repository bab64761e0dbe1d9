import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
let back: Promise<unknown> | undefined

beforeAll(async () => {
  gateway = await openMailGateway({
    async submitMail({ from, to }, octets) {
      back = gateway.post(octets, { from, to, ip: '127.0.0.1', helo: mailDomain })
      return { response: '250' }
    },
  })
  for (const { dns } of await gateway.channel.publishedKeys()) {
    if (dns) gateway.simulation.dns.set(dns.name, { TXT: [dns.value] })
  }
})
afterAll(() => gateway.close())

test('a mail to ourselves has a signature, comes back, passes with our own records, and reaches no agent (EM-7.4)', async () => {
  const id = await gateway.channel.probe?.()
  await back
  const record = await gateway.store.findMessage(id ?? '')
  expect(record).toMatchObject({
    state: 'ignored',
    message: { sender: { address: `@echo@${mailDomain}`, verified: true, auth_method: 'email-dmarc' } },
  })
  expect(record?.flags).toEqual(expect.arrayContaining(['own_mail', 'auto_reply']))
  expect(record?.proofs.filter(({ kind }) => kind === 'dkim').map(({ verdict }) => verdict)).toEqual(['pass', 'pass'])
})

test('the operator lifts a suppression, and the record shows it', async () => {
  const key = { via: 'email', agent: 'echo', relation: 'suppressed', peer: 'bob@nodmarc.test' } as const
  const number = (await gateway.store.listMessages({ limit: 1 }))[0]?.message ?? 0
  const effect = { kind: 'relate', relation: 'suppressed', peer: key.peer, target: 'bounced: 5.1.1' } as const
  await gateway.store.decide(number, { effects: [effect], deliveries: [] })
  expect(await gateway.channel.liftSuppression?.('echo', key.peer)).toBe(true)
  expect(await gateway.store.findRelation(key)).toBeUndefined()
  expect((await gateway.store.listMessages({ limit: 1 }))[0]).toMatchObject({
    state: 'ignored',
    preview: `The operator allows mail to ${key.peer} again.`,
  })
  expect(await gateway.channel.liftSuppression?.('echo', key.peer)).toBe(false)
})

test('keys of the domain rotate together, and no agent has a key of its own', async () => {
  const before = (await gateway.channel.publishedKeys()).length
  expect((await gateway.channel.rotateKeys?.())?.map(({ id }) => id)).toEqual([
    `postern-2._domainkey.${mailDomain}`,
    `postern-2-ed25519._domainkey.${mailDomain}`,
  ])
  expect(await gateway.channel.publishedKeys()).toHaveLength(before + 2)
  expect(await gateway.channel.rotateKeys?.('echo')).toEqual([])
  await expect(gateway.channel.rotateKeys?.('nobody')).rejects.toThrow('Cannot rotate keys: there is no such agent')
})
