import { performActions } from '@postern/pipeline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { composeActivity, echoActor } from '../activity.ts'
import type { PeerAccount } from '../person.ts'
import { postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// Deliveries reach a follower at the inbox in the follower's current document, not at an earlier one.

let stage: Stage

beforeEach(async () => {
  stage = await openStage({ agents: { echo: { handle: () => undefined } } })
  stage.gateway.work()
  await tell(stage.alice, 'Follow', echoActor)
})
afterEach(() => stage.close())

async function tell(person: PeerAccount, type: string, object: unknown): Promise<number> {
  return (await postActivity(stage.gateway, person, composeActivity(person, type, object))).status
}

/** Moves the inboxes of Alice's server. The server may announce the move or not. */
function moveInboxes(inbox: string, sharedInbox?: string): Record<string, unknown> {
  const document = { inbox, endpoints: sharedInbox && { sharedInbox } }
  return settlePerson(stage.peer, 'alice@good.test', { document }).document
}

async function inboxesOfPost(): Promise<readonly string[]> {
  const { store, system, channel } = stage.gateway
  const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'to all' }]
  stage.peer.forget()
  const acting = { agent: 'echo', address: '@echo@agents.test' }
  await performActions([{ act: 'post', parts }], acting, { store, system, channels: [channel] })
  const posts = () => stage.peer.requests.filter(({ method, body }) => method === 'POST' && /"Create"/.test(body))
  await vi.waitFor(() => expect(posts()).not.toEqual([]))
  return posts().map(({ host, path }) => `${host}${path}`)
}

test('the gateway fetches an actor that announces a change, and then uses its current inbox', async () => {
  const [inbox, sharedInbox] = ['https://good.test/ap/alice/inbox', 'https://good.test/ap/inbox']
  expect(await inboxesOfPost()).toEqual(['good.test/inbox'])
  const document = moveInboxes(inbox, sharedInbox)
  expect(await tell(stage.alice, 'Update', document)).toBe(202)
  expect((await stage.listStoredMessages())[0]).toMatchObject({ flags: ['readdressed'], state: 'ignored' })
  expect(await inboxesOfPost()).toEqual(['good.test/ap/inbox'])
  moveInboxes(inbox)
  stage.gateway.system.advance(3_600_000)
  await tell(stage.alice, 'Update', stage.alice.id)
  expect(await inboxesOfPost()).toEqual(['good.test/ap/alice/inbox'])
})

test('the gateway uses the fetched actor document, not the embedded one', async () => {
  await tell(stage.alice, 'Update', { ...stage.alice.document, inbox: 'https://good.test/forged', endpoints: {} })
  expect((await stage.listStoredMessages())[0]?.flags).not.toContain('readdressed')
  expect(await inboxesOfPost()).toEqual(['good.test/inbox'])
})

test('a change of another actor, or of a stranger, changes nothing and causes no fetch', async () => {
  await tell(stage.mallory, 'Follow', echoActor)
  stage.peer.forget()
  const document = moveInboxes('https://evil.test/users/mallory/inbox')
  await tell(stage.mallory, 'Update', document)
  const bob = settlePerson(stage.peer, 'bob@other.test', { key: stage.alice.key })
  await tell(bob, 'Update', bob.document)
  expect(stage.peer.countOf(stage.alice.id)).toBe(0)
  // The sender is fetched twice: once without a signature, and once with ours.
  expect(stage.peer.countOf(bob.id)).toBe(2)
  expect((await stage.listStoredMessages()).flatMap(({ flags }) => flags)).not.toContain('readdressed')
})

test('the limit of foreign inboxes for followers also slows changes to such inboxes (AP-42)', async () => {
  const { peer, gateway, mallory } = stage
  const answers: number[] = []
  for (let at = 0; at < 65; at += 1) {
    const address = `e${at}@evil.test`
    const person = settlePerson(peer, address, { key: mallory.key, document: { endpoints: undefined } })
    await tell(person, 'Follow', echoActor)
    const document = { inbox: `https://good.test/any/${at}`, endpoints: undefined }
    settlePerson(peer, address, { key: mallory.key, document })
    answers.push(await tell(person, 'Update', person.id))
  }
  expect(answers.filter(status => status === 429)).toHaveLength(5)
  const echo = { agent: 'echo', via: 'activitypub', relation: 'follower', limit: 99 } as const
  const followers = await gateway.store.listRelations(echo)
  const foreign = followers.filter(({ target }) => JSON.stringify(target).includes('good.test/any/'))
  expect(foreign).toHaveLength(60)
})

test('an announcement without a change does not count against the limit of foreign inboxes (AP-42)', async () => {
  const document = { inbox: 'https://good.test/any/1', endpoints: undefined }
  const person = settlePerson(stage.peer, 'ann@evil.test', { key: stage.mallory.key, document })
  await tell(person, 'Follow', echoActor)
  const answers: number[] = []
  for (let at = 0; at < 62; at += 1) answers.push(await tell(person, 'Update', person.id))
  expect(answers).toEqual(Array(62).fill(202))
})
