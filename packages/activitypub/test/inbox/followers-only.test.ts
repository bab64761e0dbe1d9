import { performActions } from '@postern/pipeline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { composeActivity } from '../activity.ts'
import { origin } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The agent's posts for followers only are shown to followers only.

let stage: Stage
let bob: PeerAccount
let path: string

const echo = `${origin}/agents/echo`
const agent = {
  handle: () => ({
    visibility: 'followers' as const,
    parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'among us' }],
  }),
}

beforeEach(async () => {
  stage = await openStage({ agents: { echo: agent } })
  const { gateway, peer, alice } = stage
  bob = settlePerson(peer, 'bob@other.test')
  for (const inbox of [
    'https://good.test/users/alice/inbox',
    'https://good.test/inbox',
    'https://other.test/inbox',
    'https://other.test/users/bob/inbox',
  ]) {
    peer.serve(inbox, { status: 202 })
  }
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  const created = () =>
    peer.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => JSON.parse(body))
      .find(({ type }) => type === 'Create')
  await vi.waitFor(() => expect(created()).toBeDefined())
  expect(created().object).toMatchObject({ to: [`${echo}/followers`] })
  path = new URL(created().object.id).pathname
})
afterEach(() => stage.close())

async function read(reader?: PeerAccount) {
  const covered = ['(request-target)', 'host', 'date']
  const signed = reader && signHeaders(stage.gateway, reader, '', { path, covered, target: `get ${path}` })
  const headers = { accept: 'application/activity+json', ...(signed && { date: '', signature: '', ...signed }) }
  const answer = await stage.gateway.app.request(`${origin}${path}`, { headers })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

async function tell(person: PeerAccount, type: string, object: unknown) {
  const activity = composeActivity(person, type, object)
  expect(await postActivity(stage.gateway, person, activity)).toMatchObject({ status: 202 })
  return activity
}

test('is visible to the person whom it answers', async () => {
  expect(await read(stage.alice)).toMatchObject({ status: 200, body: { id: origin + path } })
})

test('is readable for a follower while they follow, and only their cache may keep it', async () => {
  expect((await read(bob)).status).toBe(404)
  const follow = await tell(bob, 'Follow', echo)
  const { status, headers, body } = await read(bob)
  expect({ status, type: body.type }).toEqual({ status: 200, type: 'Note' })
  expect(headers.get('vary')).toBe('Accept, Signature, Signature-Input')
  expect(headers.get('cache-control')).toBe('private, no-store')
  await tell(bob, 'Undo', follow)
  expect((await read(bob)).status).toBe(404)
})

test('does not exist for strangers, signed or not', async () => {
  await tell(bob, 'Follow', echo)
  expect(await read()).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
  expect(await read(stage.mallory)).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
})

test('does not exist for a reader who blocks the agent, even as its recipient', async () => {
  await tell(bob, 'Follow', echo)
  for (const person of [bob, stage.alice]) {
    await tell(person, 'Block', echo)
    expect(await read(person)).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
  }
})

test('only readers of a followers-only post can like it', async () => {
  const reactions = async () => (await stage.listStoredMessages()).filter(({ message }) => message.kind === 'reaction')
  await tell(bob, 'Like', origin + path)
  await tell(stage.mallory, 'Like', origin + path)
  expect(await reactions()).toEqual([])
  await tell(bob, 'Follow', echo)
  await tell(bob, 'Like', origin + path)
  expect(await reactions()).toMatchObject([
    { message: { sender: { address: '@bob@other.test' }, in_reply_to: origin + path } },
  ])
})

test('answers readers with 410 after its deletion, and others with 404', async () => {
  const { store, system, channel } = stage.gateway
  const acting = { agent: 'echo', address: '@echo@agents.test' }
  const response = path.split('/').at(-1) ?? ''
  await performActions([{ act: 'delete', response }], acting, { store, system, channels: [channel] })
  const { status, headers, body } = await read(stage.alice)
  expect({ status, type: body.type }).toEqual({ status: 410, type: 'Tombstone' })
  // A shared cache would show the post to the next reader.
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(await read()).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
  expect(await read(bob)).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
})

test('the gateway ignores a reaction to a post number that does not exist', async () => {
  await tell(stage.alice, 'Like', `${origin}${path}.7`)
  expect((await stage.listStoredMessages()).filter(({ message }) => message.kind === 'reaction')).toEqual([])
  await tell(stage.alice, 'Like', origin + path)
  expect((await stage.listStoredMessages()).filter(({ message }) => message.kind === 'reaction')).toHaveLength(1)
})
