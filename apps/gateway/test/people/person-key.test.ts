import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { PeopleTestGateway } from '../setup/people-gateway.ts'
import { openPeopleGateway } from '../setup/people-gateway.ts'

// These tests check the key of a person, from both of their addresses, through real sockets with real signatures.

interface Person {
  readonly id: string
  readonly addresses: readonly { readonly via: string; readonly address: string }[]
}

interface PersonReport extends Partial<Person> {
  readonly isPublic: boolean
  readonly receivedNotices: readonly {
    readonly kind: string
    readonly id: string
    readonly before: readonly Person[]
    readonly after: readonly Person[]
  }[]
}

const ledger = join(import.meta.dirname, '../agents/people/ledger.ts')
const receivedKinds = ['message', 'link', 'unlink']

let people: PeopleTestGateway

beforeAll(async () => {
  people = await openPeopleGateway({
    agents: {
      desk: { use: ledger, receives: receivedKinds, people: { link: true } },
      shared: { use: ledger, people: { link: true, share: 'history' } },
    },
  })
})
afterAll(() => people.close())

function parseReport({ text }: { readonly text: string }): PersonReport {
  const [digits = ''] = /7b22[0-9a-f]+/.exec(text.replace(/\s/g, '')) ?? []
  return JSON.parse(Buffer.from(digits, 'hex').toString()) as PersonReport
}

const account = { via: 'activitypub', address: '@alice@mastodon.test' }
const mailbox = { via: 'email', address: '@alice@alice.test' }

test('an agent sees one key for a person with linked addresses, and learns of the link and its end', async () => {
  const [postView, mailView] = [
    parseReport(await people.askByPost('hello')),
    parseReport(await people.askByMail('hello')),
  ]
  expect(postView).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/), addresses: [account], isPublic: false })
  expect(mailView).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/), addresses: [mailbox] })
  expect(mailView.id).not.toBe(postView.id)
  const alone = [
    { id: postView.id, addresses: [account] },
    { id: mailView.id, addresses: [mailbox] },
  ]
  const joined = { id: postView.id, addresses: [account, mailbox] }

  await people.linkMail()
  const { receivedNotices } = await eventually(async () => {
    const reply = parseReport(await people.askByMail('and now?'))
    return reply.receivedNotices.length > 0 && reply
  })
  expect(receivedNotices).toEqual([{ kind: 'link', id: postView.id, before: alone, after: [joined] }])
  expect(parseReport(await people.askByMail('again'))).toMatchObject({ id: postView.id, addresses: [mailbox] })
  expect(parseReport(await people.askByPost('in public', { visibility: 'public' }))).toMatchObject({
    id: postView.id,
    addresses: [account],
    isPublic: true,
  })

  await people.askByMail('unlink @alice@mastodon.test')
  const reportAfter = await eventually(async () => {
    const reply = parseReport(await people.askByMail('and now?'))
    return reply.receivedNotices.length > 1 && reply
  })
  expect(reportAfter.receivedNotices[1]).toEqual({ kind: 'unlink', id: mailView.id, before: [joined], after: alone })
  expect(reportAfter.id).toBe(mailView.id)
})

test('an agent that shares conversations sees all addresses, and no link notice if it did not ask for them', async () => {
  await people.linkMail('alice@alice.test', { to: 'shared' })
  const reply = parseReport(await people.askByMail('hello', { to: 'shared' }))
  expect(reply.addresses).toEqual([account, mailbox])
  const messages = await people.gateway.messages()
  expect(JSON.stringify(messages)).not.toContain('urn:postern:link:shared')
})

test('a sender without a proof has no key', async () => {
  expect(parseReport(await people.askByMail('hello', { sign: false }))).not.toHaveProperty('id')
})

test('an erasure by the operator also removes the link notices that the agent received', async () => {
  await people.linkMail()
  const hasLinkNotice = async () => JSON.stringify(await people.gateway.messages()).includes('urn:postern:link:desk')
  await eventually(hasLinkNotice)
  const { address, via } = account
  const response = await fetch(`${people.gateway.url()}/operator/api/people/forget`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ address, via }),
  })
  expect(response.status).toBe(200)
  expect(await hasLinkNotice()).toBe(false)
})
