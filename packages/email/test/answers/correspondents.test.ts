import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// These tests cover authors who resemble a person whom the agent knows (EM-4.3).

const key = makeDkimKey(2048)
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  gateway = await openMailGateway({ config: { answer_lists: true } })
})
afterAll(() => gateway.close())

/** Sends a mail, which by default is proven by an aligned signature. */
async function write(
  from: string,
  { to = `echo@${mailDomain}`, isProven = true, header = '', at: server = gateway } = {},
) {
  counter += 1
  const signer = /@([^>]+)/.exec(from)?.[1] ?? ''
  server.simulation.dns.set(`s1._domainkey.${signer}`, { TXT: [keyRecord(key)] })
  const message = `From: ${from}\r\nTo: ${to}\r\nSubject: ${counter}\r\nDate: ${today}\r\nMessage-ID: <c${counter}@x.test>\r\n${header}\r\nHello ${counter}.\r\n`
  const { status } = await server.post(isProven ? signText(message, { domain: signer, key }) : message, { to })
  expect(status).toBe(200)
  const { flags, proofs, state, message: taken, number } = await server.latest()
  const mailPart = taken.parts.find(({ kind }) => (kind as string) === 'email') as { flags?: string[] } | undefined
  return {
    number,
    state,
    verified: taken.sender.verified,
    flags: flags.filter(flag => /look|spoof/.test(flag)),
    told: mailPart?.flags ?? [],
    proofs: proofs.filter(({ kind }) => kind === 'address' || kind === 'name'),
  }
}

describe('an author who resembles a proven correspondent', () => {
  let firstMessage: number
  beforeAll(async () => {
    firstMessage = (await write('Alice Ardent <alice.ardent@northwind.test>')).number
    await write('Mr Brown <brown@a-rather-long-name.test>')
  })

  const alike: readonly (readonly [string, string, string, string])[] = [
    ['letters of another alphabet', 'x@n\u043ert\u04bbwind.test', 'lookalike', 'its domain reads like that'],
    ['letters that read like others', 'x@northvvind.test', 'lookalike', 'its domain reads like that'],
    ['a letter less', 'x@nothwind.test', 'lookalike', 'its domain is one letter from that'],
    ['a letter more', 'x@northwinds.test', 'lookalike', 'its domain is one letter from that'],
    ['another letter', 'x@northwend.test', 'lookalike', 'its domain is one letter from that'],
    ['two letters the other way round', 'x@nortwhind.test', 'lookalike', 'its domain is one letter from that'],
    ['another end of it', 'x@northwind.tests', 'lookalike', 'its domain is one letter from that'],
    ['a local part that reads like it', 'a1ice.ardent@northwind.test', 'lookalike', 'its address reads like that'],
    [
      'a local part with a letter less',
      'alice.arden@northwind.test',
      'lookalike',
      'its address is one letter from that',
    ],
    [
      'her name',
      'Alice Ardent <x@elsewhere.test>',
      'display_name_spoof',
      'it bears the same name at another domain as that',
    ],
    [
      'her name, turned round, in other letters',
      '"ARDENT, \u0410lice" <x@elsewhere.test>',
      'display_name_spoof',
      'it bears the same name at another domain as that',
    ],
  ]

  test.each(alike)('by %s gets a flag, proven or not, and the agent sees it', async (_what, from, flag, how) => {
    for (const isProven of [true, false, true]) {
      const record = await write(from, { isProven: isProven && !/[^ -~]/.test(from) })
      expect(record.flags).toContain(flag)
      expect(record.told).toContain(flag)
      expect(record.state).toBe('received')
      expect(record.proofs[0]).toMatchObject({ verdict: 'policy', reason: `${how} of who wrote #${firstMessage}` })
    }
  })

  const otherSenders: readonly (readonly [string, string])[] = [
    ['the same one', 'Alice Ardent <alice.ardent@northwind.test>'],
    ['the same one behind a tag, under another name', 'A. Ardent <Alice.Ardent+work@northwind.test>'],
    ['a colleague', 'Bob <bob@northwind.test>'],
    ['a namesake in the same house', 'Alice Ardent <a2@mail.northwind.test>'],
    ['another office of a house', 'Office <x@london.office-house.test>'],
    ['a further office of that house', 'Place <x@londons.office-house.test>'],
    ['a numbered one', 'Store <desk7@northwind.test>'],
    ['a further numbered one', 'Store <desk8@northwind.test>'],
    ['one of a short name', 'Jo <jo@ab.test>'],
    ['another of a short name', 'Jon <jon@ac.test>'],
  ]

  test('gets no flag for another change', async () => {
    for (const [what, from] of otherSenders)
      expect({ what, ...(await write(from)) }).toMatchObject({ what, flags: [], told: [] })
  })

  test('gets a flag below a registry suffix', async () => {
    await write('Bank <bank@barclays.co.test>')
    expect((await write('x@barclayz.co.test')).flags).toEqual(['lookalike'])
  })

  test('gets no flag at another agent, which does not know alice', async () => {
    expect(await write('x@northwend.test', { to: `helper@${mailDomain}` })).toMatchObject({ flags: [] })
  })

  test('gets no flag for resembling an unproven author', async () => {
    await write('Carol Unknown <carol@unproven.test>', { isProven: false })
    expect(await write('Carol Unknown <carol@unprooven.test>')).toMatchObject({ flags: [] })
  })

  test('gets a flag for taking another one’s name', async () => {
    expect((await write('Mr Brown <brown@a-rather-long-name.test>')).flags).toEqual([])
    expect((await write('Alice Ardent <brown@a-rather-long-name.test>')).flags).toEqual(['display_name_spoof'])
  })

  test('gets no flag for a forgotten correspondent', async () => {
    await write('Dora Gone <dora@forgotten-house.test>')
    expect((await write('x@forgotten-hause.test')).flags).toEqual(['lookalike'])
    await gateway.store.forgetPerson({ addresses: [{ via: 'email', address: '@dora@forgotten-house.test' }] })
    expect((await write('Dora Gone <x@forgotten-hause.test>')).flags).toEqual([])
  })
})

test('the finding has no name, so that nothing remains of a forgotten person', async () => {
  await write('Erna Else <erna@someplace-else.test>')
  const { proofs } = await write('Erna Else <x@sameplace-else.test>')
  expect(proofs).toHaveLength(2)
  expect(JSON.stringify(proofs)).not.toMatch(/erna|someplace/i)
})

test('a second gateway on the same store knows the correspondents of the first', async () => {
  const store = gateway.store
  const otherGateway = await openMailGateway({ watchStore: () => store })
  await write('Frank Far <frank@far-away-land.test>')
  const signer = 'for-away-land.test'
  const message = `From: x@${signer}\r\nTo: echo@${mailDomain}\r\nMessage-ID: <second@x.test>\r\n\r\nHello.\r\n`
  expect((await otherGateway.post(message)).status).toBe(200)
  expect((await gateway.latest()).flags).toContain('lookalike')
  await otherGateway.close()
})
