import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
let returnedMail: Promise<unknown> | undefined

beforeAll(async () => {
  gateway = await openMailGateway({
    async submitMail({ from, to }, octets) {
      returnedMail = gateway.post(octets, { from, to, ip: '127.0.0.1', helo: mailDomain })
      return { response: '250' }
    },
  })
  for (const { dns } of (await gateway.channel.keys?.list()) ?? []) {
    if (dns) gateway.simulation.dns.set(dns.name, { TXT: [dns.value] })
  }
})
afterAll(() => gateway.close())

test('a test mail of the gateway to itself returns, passes DMARC with the published records, and reaches no agent (EM-7.4)', async () => {
  const id = await gateway.channel.diagnostics?.probe?.()
  await returnedMail
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
  expect(await gateway.channel.peers?.liftSuppression?.('echo', key.peer)).toBe(true)
  expect(await gateway.store.findRelation(key)).toBeUndefined()
  expect((await gateway.store.listMessages({ limit: 1 }))[0]).toMatchObject({
    state: 'ignored',
    preview: `The operator allows mail to ${key.peer} again.`,
  })
  expect(await gateway.channel.peers?.liftSuppression?.('echo', key.peer)).toBe(false)
})

test('the keys of a domain rotate together, and agents have no keys of their own', async () => {
  const countBefore = ((await gateway.channel.keys?.list()) ?? []).length
  expect((await gateway.channel.keys?.rotate?.())?.map(({ id }) => id)).toEqual([
    expect.stringMatching(/^postern-[0-9a-f]{10}\._domainkey\.agents\.test$/),
    expect.stringMatching(/^postern-[0-9a-f]{10}-ed25519\._domainkey\.agents\.test$/),
  ])
  expect(await gateway.channel.keys?.list())?.toHaveLength(countBefore + 2)
  expect(await gateway.channel.keys?.rotate?.('echo')).toEqual([])
  await expect(gateway.channel.keys?.rotate?.('nobody')).rejects.toThrow('Cannot rotate keys: there is no such agent')
})
