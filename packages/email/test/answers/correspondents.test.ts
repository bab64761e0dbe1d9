import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

/** The `Date` of the mails, because a mail that is some days old counts as a possible replay. */
const today = new Date().toUTCString()

// These tests cover authors who resemble a person whom the agent knows (EM-4.3).

const key = createDkimKey(2048)
let gateway: MailGateway
let counter = 0

beforeAll(async () => {
  gateway = await openMailGateway({ config: { answer_lists: true } })
})
afterAll(() => gateway.close())

/** Sends a mail, which by default is proven by an aligned signature. */
async function postMail(
  from: string,
  { to = `echo@${mailDomain}`, isProven = true, header = '', at: server = gateway } = {},
) {
  counter += 1
  const signer = /@([^>]+)/.exec(from)?.[1] ?? ''
  server.simulation.dns.set(`s1._domainkey.${signer}`, { TXT: [keyRecord(key)] })
  const message = `From: ${from}\r\nTo: ${to}\r\nSubject: ${counter}\r\nDate: ${today}\r\nMessage-ID: <c${counter}@x.test>\r\n${header}\r\nHello ${counter}.\r\n`
  const { status } = await server.post(isProven ? signText(message, { domain: signer, key }) : message, { to })
  expect(status).toBe(200)
  const { flags, proofs, state, message: storedMessage, number } = await server.readLatestMessage()
  const mailPart = storedMessage.parts.find(({ kind }) => (kind as string) === 'email') as
    | { flags?: string[] }
    | undefined
  return {
    number,
    state,
    verified: storedMessage.sender.verified,
    flags: flags.filter(flag => /look|spoof/.test(flag)),
    shownFlags: mailPart?.flags ?? [],
    proofs: proofs.filter(({ kind }) => kind === 'address' || kind === 'name'),
  }
}

describe('an author who resembles a proven correspondent', () => {
  let firstMessage: number
  beforeAll(async () => {
    firstMessage = (await postMail('Alice Ardent <alice.ardent@northwind.test>')).number
    await postMail('Mr Brown <brown@a-rather-long-name.test>')
  })

  const similarSenders: readonly (readonly [string, string, string, string])[] = [
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

  test.each(similarSenders)(
    'by %s gets a flag, proven or not, and the agent sees it',
    async (_what, from, flag, how) => {
      for (const isProven of [true, false, true]) {
        const record = await postMail(from, { isProven: isProven && !/[^ -~]/.test(from) })
        expect(record.flags).toContain(flag)
        expect(record.shownFlags).toContain(flag)
        expect(record.state).toBe('received')
        expect(record.proofs[0]).toMatchObject({ verdict: 'policy', reason: `${how} of who wrote #${firstMessage}` })
      }
    },
  )

  const otherSenders: readonly (readonly [string, string])[] = [
    ['the same mailbox', 'Alice Ardent <alice.ardent@northwind.test>'],
    ['the same mailbox with a tag and another name', 'A. Ardent <Alice.Ardent+work@northwind.test>'],
    ['a colleague', 'Bob <bob@northwind.test>'],
    ['a namesake of the same organization', 'Alice Ardent <a2@mail.northwind.test>'],
    ['an office of an organization', 'Office <x@london.office-house.test>'],
    ['another office of that organization', 'Place <x@londons.office-house.test>'],
    ['a numbered mailbox', 'Store <desk7@northwind.test>'],
    ['another numbered mailbox', 'Store <desk8@northwind.test>'],
    ['a short name', 'Jo <jo@ab.test>'],
    ['another short name', 'Jon <jon@ac.test>'],
  ]

  test('gets no flag for other differences', async () => {
    for (const [what, from] of otherSenders)
      expect({ what, ...(await postMail(from)) }).toMatchObject({ what, flags: [], shownFlags: [] })
  })

  test('gets a flag below a registry suffix', async () => {
    await postMail('Bank <bank@barclays.co.test>')
    expect((await postMail('x@barclayz.co.test')).flags).toEqual(['lookalike'])
  })

  test('gets no flag at another agent, which does not know alice', async () => {
    expect(await postMail('x@northwend.test', { to: `helper@${mailDomain}` })).toMatchObject({ flags: [] })
  })

  test('gets no flag for resembling an unproven author', async () => {
    await postMail('Carol Unknown <carol@unproven.test>', { isProven: false })
    expect(await postMail('Carol Unknown <carol@unprooven.test>')).toMatchObject({ flags: [] })
  })

  test('gets a flag for taking the name of another correspondent', async () => {
    expect((await postMail('Mr Brown <brown@a-rather-long-name.test>')).flags).toEqual([])
    expect((await postMail('Alice Ardent <brown@a-rather-long-name.test>')).flags).toEqual(['display_name_spoof'])
  })

  test('gets no flag for a forgotten correspondent', async () => {
    await postMail('Dora Gone <dora@forgotten-house.test>')
    expect((await postMail('x@forgotten-hause.test')).flags).toEqual(['lookalike'])
    await gateway.store.forgetPerson({ addresses: [{ via: 'email', address: '@dora@forgotten-house.test' }] })
    expect((await postMail('Dora Gone <x@forgotten-hause.test>')).flags).toEqual([])
  })
})

test('the proofs contain no name, so that nothing remains of a forgotten person', async () => {
  await postMail('Erna Else <erna@someplace-else.test>')
  const { proofs } = await postMail('Erna Else <x@sameplace-else.test>')
  expect(proofs).toHaveLength(2)
  expect(JSON.stringify(proofs)).not.toMatch(/erna|someplace/i)
})

test('a second gateway on the same store knows the correspondents of the first', async () => {
  const store = gateway.store
  const otherGateway = await openMailGateway({ wrapStore: () => store })
  await postMail('Frank Far <frank@far-away-land.test>')
  const signer = 'for-away-land.test'
  const message = `From: x@${signer}\r\nTo: echo@${mailDomain}\r\nMessage-ID: <second@x.test>\r\n\r\nHello.\r\n`
  expect((await otherGateway.post(message)).status).toBe(200)
  expect((await gateway.readLatestMessage()).flags).toContain('lookalike')
  await otherGateway.close()
})
