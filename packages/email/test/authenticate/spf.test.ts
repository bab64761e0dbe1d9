import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
let counter = 0
beforeAll(async () => {
  gateway = await openMailGateway()
  const { dns } = gateway.simulation
  const publishSpf = (name: string, record: string) => dns.set(name, { TXT: [record] })
  publishSpf('soft.test', 'v=spf1 ip4:192.0.2.0/24 ~all')
  publishSpf('open.test', 'v=spf1 ?all')
  publishSpf('loop.test', 'v=spf1 include:loop.test -all')
  publishSpf('broken.test', 'v=spf1 ip4:nonsense -all')
  publishSpf(
    'far.test',
    `v=spf1 ${Array.from({ length: 11 }, (_, index) => `include:n${index}.far.test`).join(' ')} -all`,
  )
  for (let index = 0; index < 11; index += 1) publishSpf(`n${index}.far.test`, 'v=spf1 ip4:198.51.100.1 -all')
  const longMacro = '%{d}.%{d}.%{d}.%{d}.%{d}.%{d}.%{d}.%{d}'
  publishSpf(
    'macro.test',
    `v=spf1 ${Array.from({ length: 12 }, (_, index) => `exists:${index}.${longMacro}`).join(' ')} -all`,
  )
  publishSpf('void.test', 'v=spf1 a:v1.none.test a:v2.none.test a:v3.none.test -all')
  dns.set('helo.test', { A: ['192.0.2.7'], TXT: ['v=spf1 a -all'] })
  dns.fail('down.test', 'servfail')
})
afterAll(() => gateway.close())

async function postAndFindSpf(from: string, ip: string, helo = 'mx.elsewhere.test') {
  counter += 1
  const message = `From: a@plain.test\nTo: echo@${mailDomain}\nMessage-ID: <spf${counter}@plain.test>\n\n${counter}\n`
  expect((await gateway.post(message, { from, ip, helo, to: `echo@${mailDomain}` })).status).toBe(200)
  const { proofs } = await gateway.readLatestMessage()
  return proofs.find(({ kind }) => kind === 'spf')
}

test.each([
  ['a client that may', 'x@soft.test', '192.0.2.9', 'pass'],
  ['one that probably may not', 'x@soft.test', '198.51.100.9', 'softfail'],
  ['a policy that says nothing', 'x@open.test', '192.0.2.9', 'neutral'],
  ['no policy', 'x@plain.test', '192.0.2.9', 'none'],
  ['a broken policy', 'x@broken.test', '192.0.2.9', 'permerror'],
  ['EM-37: a policy that includes itself', 'x@loop.test', '192.0.2.9', 'permerror'],
  ['EM-37: eleven look-ups', 'x@far.test', '192.0.2.9', 'permerror'],
  ['EM-37: three look-ups that find nothing', 'x@void.test', '192.0.2.9', 'permerror'],
  ['EM-37: macros that grow', 'x@macro.test', '192.0.2.9', 'permerror'],
  ['DNS that fails, which decides nothing here', 'x@down.test', '192.0.2.9', 'temperror'],
  ['IPv6 in the clothes of IPv4', 'x@soft.test', '::ffff:192.0.2.9', 'pass'],
])('SPF evaluates %s', async (_what, from, ip, verdict) => {
  expect(await postAndFindSpf(from, ip)).toMatchObject({ verdict, domain: from.slice(2) })
})

test('SPF of the null sender uses HELO', async () => {
  expect(await postAndFindSpf('', '192.0.2.7', 'helo.test')).toMatchObject({ verdict: 'pass', domain: 'helo.test' })
})

test("SPF has no result without the client's address", async () => {
  const message = `From: a@plain.test\nTo: echo@${mailDomain}\n\nno ip\n`
  await gateway.post(message, { from: 'x@soft.test', to: `echo@${mailDomain}` })
  const { proofs } = await gateway.readLatestMessage()
  expect(proofs.find(({ kind }) => kind === 'spf')).toMatchObject({ verdict: 'unverifiable' })
})

test.each([
  ['reject', false, 503],
  ['quarantine', false, 503],
  ['none', false, 200],
  ['none', true, 503],
] as const)(
  'SPF with failing DNS answers, under a policy of %s and with spf_only %s: %i',
  async (policy, spf_only, status) => {
    const strictGateway = await openMailGateway({ config: { trust: { spf_only } } })
    strictGateway.simulation.dns.set('_dmarc.down.test', { TXT: [`v=DMARC1; p=${policy}`] })
    strictGateway.simulation.dns.fail('down.test', 'servfail')
    const message = `From: a@down.test\nTo: echo@${mailDomain}\nMessage-ID: <${policy}@down.test>\n\nHello\n`
    const answer = await strictGateway.post(message, {
      from: 'a@down.test',
      ip: '192.0.2.9',
      helo: 'mx',
      to: `echo@${mailDomain}`,
    })
    expect(answer.status).toBe(status)
    if (status === 503) expect(answer.body.detail).toBe('Cannot verify mail: DNS did not answer')
    await strictGateway.close()
  },
)
