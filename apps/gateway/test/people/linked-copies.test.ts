import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/read-config.ts'
import { eventually } from '../setup/gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'
import { listTraces } from '../setup/traces.ts'

// These tests cover answers that are also sent to a linked mailbox: an answer from another channel, repeated as a mail of its own.

const parrot = join(import.meta.dirname, '../agents/reporting/parrot.ts')
const refuser = join(import.meta.dirname, '../agents/failing/refuser.ts')
let people: Awaited<ReturnType<typeof openPeopleGateway>>

beforeAll(async () => {
  people = await openPeopleGateway({
    agents: {
      desk: { use: parrot, people: { link: true, mail: 'all' } },
      quiet: { use: parrot, people: { link: true } },
      stern: { use: refuser, people: { link: true, mail: 'all' } },
    },
  })
})
afterAll(() => people.close())

const copies = (text: string) => people.gateway.simulation.mail.received.filter(mail => mail.text?.includes(text))
const settled = async () =>
  eventually(async () => (await people.gateway.deliveries()).every(({ state }) => state === 'sent'))

test('a person with a linked mailbox gets the answer in its thread, and one copy by mail', async () => {
  const from = 'alice@mastodon.test'
  await people.askByPost('before apricot', { from })
  await people.linkMail('ada@alice.test', { from })
  await people.askByPost('with banana', { from, visibility: 'public' })
  const [copy] = await eventually(async () => copies('with banana').length > 0 && copies('with banana'))
  if (!copy) throw new Error('there is no copy')
  await settled()
  expect(copies('with banana')).toHaveLength(1)
  expect(copies('before apricot')).toEqual([])
  expect(copy.envelope.to).toEqual(['ada@alice.test'])
  expect(copy.text).toContain('Answer to what you wrote as @alice@mastodon.test:')
  expect(String(copy.headers.get('auto-submitted'))).toMatch(/^auto-/)
  // The person can continue this conversation, and is answered only there.
  const answer = await people.askByMail('more cherry', { from: 'ada@alice.test', inReplyTo: copy.messageId })
  expect(answer.text).toContain('more cherry')
  await settled()
  expect(copies('more cherry')).toHaveLength(1)
})

test('the gateway mails no copy without a link, after the link ends, or without the setting', async () => {
  const from = 'bob@mastodon.test'
  await people.linkMail('bea@alice.test', { from, to: 'quiet' })
  await people.askByPost('at quiet', { from, to: 'quiet' })
  // A link with another agent does not count for this one.
  await people.askByPost('at desk', { from })
  await people.linkMail('bea@alice.test', { from })
  await people.askByPost('unlink bea@alice.test', { from })
  await people.askByPost('afterwards', { from })
  await settled()
  for (const text of ['at quiet', 'at desk', 'afterwards']) expect(copies(text), text).toEqual([])
})

test('the gateway mails no copy of a refusal', async () => {
  const from = 'alice@snac.test'
  await people.linkMail('cleo@alice.test', { from, to: 'stern' })
  await people.askByPost('a fig', { from, to: 'stern' })
  await settled()
  expect(copies('a fig')).toEqual([])
})

test('a waiting copy does not leave after its mailbox loses the link', async () => {
  const [from, mailbox] = ['bob@snac.test', 'dot@alice.test']
  const waiting = async () =>
    (await people.gateway.deliveries()).filter(
      ({ to, state }) => to === mailbox && state !== 'sent' && state !== 'dead',
    )
  await people.linkMail(mailbox, { from })
  await settled()
  const fix = people.gateway.simulation.mail.refuse({ code: 451, message: '4.3.0 busy' })
  try {
    await people.askByPost('an elderberry', { from })
    await eventually(async () => (await waiting()).some(({ state }) => state === 'later'))
    await people.askByPost(`unlink ${mailbox}`, { from })
    expect(await waiting()).toEqual([])
  } finally {
    fix()
  }
  expect(copies('an elderberry')).toEqual([])
})

test('the gateway deletes a copy when it forgets its reader', async () => {
  const from = 'bob@gotosocial.test'
  await people.linkMail('cem@alice.test', { from })
  await people.askByPost('a dragonfruit', { from })
  await eventually(async () => copies('a dragonfruit').length === 1)
  await settled()
  expect(listTraces(people.gateway.dataDir, 'dragonfruit')).not.toEqual([])
  await people.askByPost('forget me', { from })
  expect(listTraces(people.gateway.dataDir, 'dragonfruit')).toEqual([])
})

test('the configuration requires "link" for "mail"', () => {
  const faults = () => {
    try {
      parseConfig({ origin: 'https://a.test', agents: { desk: { use: parrot, people: { mail: 'all' } } } })
    } catch (error) {
      return (error as AggregateError).errors.map(String).join()
    }
    return 'none'
  }
  expect(faults()).toContain('goes to linked mailboxes: set "link" to true, too')
})
