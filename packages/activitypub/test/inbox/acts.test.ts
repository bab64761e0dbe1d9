import type { Agent } from '@postern/pipeline'
import { createPublisher } from '@postern/pipeline'
import { afterEach, expect, test, vi } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeActivity, echoActor } from '../activity.ts'
import { readText } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage, peerHosts } from '../stage.ts'

let stage: Stage

async function openWith(handle: Agent['handle']): Promise<Stage> {
  stage = await openStage({ agents: { echo: { handle } } })
  for (const host of peerHosts) {
    for (const path of ['inbox', 'users/alice/inbox', 'users/bob/inbox', 'users/mallory/inbox']) {
      stage.peer.serve(`https://${host}/${path}`, { status: 202 })
    }
  }
  stage.gateway.work()
  return stage
}

afterEach(() => stage.close())

interface Posted {
  readonly path: string
  readonly host: string
  readonly id: string
  readonly type: string
  readonly to: readonly string[]
  readonly cc?: readonly string[]
  readonly published?: string
  readonly object: { readonly [name: string]: unknown } & { readonly id: string; readonly content: string }
}

/** Returns all posts to the peers' inboxes except handshakes, in order. */
function posted(): Posted[] {
  return stage.peer.requests
    .filter(({ method }) => method === 'POST')
    .map(({ path, host, body }) => ({ path, host, ...JSON.parse(body) }))
    .filter(({ type }) => type !== 'Accept')
}

function postedOf(type: string): Posted[] {
  return posted().filter(activity => activity.type === type)
}

async function follow(person: PeerAccount): Promise<void> {
  const answer = await postActivity(stage.gateway, person, composeActivity(person, 'Follow', echoActor))
  expect(answer.status).toBe(202)
}

function ask(person: PeerAccount, text = 'go on', note: Record<string, unknown> = {}): Promise<unknown> {
  return postActivity(stage.gateway, person, composeNote(person, { content: `<p>${text}</p>`, ...note }))
}

function openPublisher() {
  const { store, system, channel } = stage.gateway
  const acting = { agent: 'echo', address: '@echo@agents.test' }
  const gateway = { store, system, channels: [channel] }
  return createPublisher({ actingAgent: acting, gateway, signal: new AbortController().signal, log: system.log })
}

async function readPost(iri: string) {
  const path = new URL(iri).pathname
  const answer = await stage.gateway.app.request(path, { headers: { accept: 'application/activity+json' } })
  return { status: answer.status, document: await answer.json() }
}

test('an agent cannot like its own post, and the refusal is not an error in the log', async () => {
  const { gateway } = await openWith(() => undefined)
  const failed = vi.spyOn(gateway.system.log, 'error')
  const publisher = openPublisher()
  await publisher.post('Good morning')
  const [listed] = await gateway.store.listMessages({ limit: 1 })
  expect(String(await publisher.react('like', listed?.id ?? ''))).toBe('Cannot like: the agent said this itself')
  expect(failed).not.toHaveBeenCalled()
})

test('a post of an agent reaches every follower once, through the shared inbox if the server has one', async () => {
  const { alice, mallory, peer } = await openWith(() => undefined)
  const bob = settlePerson(peer, 'bob@good.test')
  const carol = settlePerson(peer, 'carol@other.test', { document: { endpoints: undefined } })
  peer.serve('https://other.test/users/carol/inbox', { status: 202 })
  for (const person of [alice, bob, mallory, carol]) await follow(person)
  const id = await openPublisher().post('Good **morning**')
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(3))
  const inboxes = postedOf('Create').map(({ host, path }) => `${host}${path}`)
  expect(inboxes.sort()).toEqual(['evil.test/inbox', 'good.test/inbox', 'other.test/users/carol/inbox'])
  const post = `https://agents.test/agents/echo/posts/${id}`
  expect(postedOf('Create')[0]).toMatchObject({
    id: `${post}/activity`,
    to: [publicCollection],
    cc: [`${echoActor}/followers`],
    object: { id: post, inReplyTo: null, content: '<p>Good <strong>morning</strong></p>', tag: [] },
  })
  expect((await readPost(post)).document).toMatchObject({ id: post, type: 'Note' })
  const outbox = await stage.gateway.app.request('/agents/echo/outbox', {
    headers: { accept: 'application/activity+json' },
  })
  expect(await outbox.json()).toMatchObject({ totalItems: 1 })
})

test('an answer to a post of an agent joins its thread, and the agent sees the post', async () => {
  const { alice, gateway } = await openWith(({ kind = 'message' }) => (kind === 'message' ? 'indeed' : undefined))
  await follow(alice)
  const id = await openPublisher().post('It rains')
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
  await ask(alice, 'Does it?', { inReplyTo: `https://agents.test/agents/echo/posts/${id}` })
  await vi.waitFor(() => expect(gateway.resolved.at(-1)?.parts).toMatchObject([{ content: 'Does it?' }]))
  expect(gateway.resolved.at(-1)?.history).toMatchObject([{ role: 'assistant', parts: [{ content: 'It rains' }] }])
})

test('the outbox hides a followers-only post, and a direct one reaches only mentioned people', async () => {
  const { alice, mallory } = await openWith(() => undefined)
  await follow(alice)
  const publisher = openPublisher()
  const followersPost = await publisher.post('For you', { visibility: 'followers' })
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
  expect(postedOf('Create')[0]).toMatchObject({ to: [`${echoActor}/followers`], cc: [] })
  expect((await readPost(`https://agents.test/agents/echo/posts/${followersPost}`)).status).toBe(404)
  await publisher.post('Psst', { visibility: 'direct', mentions: ['@mallory@evil.test'], subject: 'secret' })
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(2))
  expect(postedOf('Create')[1]).toMatchObject({
    host: 'evil.test',
    path: '/users/mallory/inbox',
    to: [mallory.id],
    object: { summary: 'secret', sensitive: true, tag: [{ type: 'Mention', href: mallory.id }] },
  })
})

test('an edited answer leaves as an Update, and the post then shows the new text', async () => {
  const { alice } = await openWith(({ parts }, context) => {
    const [part] = parts
    if (part?.kind === 'text' && part.content === 'go on') return 'It is 7'
    const [, agentTurn] = context.history().turns
    context.edit(agentTurn?.id ?? '', 'It is 8')
    return undefined
  })
  await ask(alice)
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
  const [{ object: note }] = postedOf('Create') as [Posted]
  await ask(alice, 'Are you sure?', { inReplyTo: note.id })
  await vi.waitFor(() => expect(postedOf('Update')).toHaveLength(1))
  const [update] = postedOf('Update') as [Posted]
  expect(update).toMatchObject({
    to: [publicCollection],
    object: {
      id: note.id,
      type: 'Note',
      inReplyTo: note.inReplyTo,
      published: note.published,
      updated: update.published,
    },
  })
  expect(update.id).toMatch(new RegExp(`^${note.id}/updates/[0-9a-f]{16}$`))
  expect(update.object.content).toContain('It is 8')
  const { document } = await readPost(note.id)
  expect(document).toMatchObject({ updated: expect.any(String), content: update.object.content })
})

test('text that an agent streams later edits its first post', async () => {
  const { alice } = await openWith(async function* () {
    yield { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: 'Looking it up' }] }
    await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
    yield 'It rains'
  })
  await ask(alice)
  await vi.waitFor(() => expect(postedOf('Update')).toHaveLength(1))
  const [[create], [update]] = [postedOf('Create'), postedOf('Update')]
  expect(create?.object.content).toContain('Looking it up')
  expect(update?.object.id).toBe(create?.object.id)
  expect(update?.object.content).toContain('It rains')
  expect(update?.object.content).not.toContain('Looking')
})

test('the gateway sends the Delete of a post to all recipients, and shows a Tombstone', async () => {
  const { alice, mallory } = await openWith(() => undefined)
  for (const person of [alice, mallory]) await follow(person)
  const publisher = openPublisher()
  const id = String(await publisher.post('Oops'))
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(2))
  await publisher.delete(id)
  await vi.waitFor(() => expect(postedOf('Delete')).toHaveLength(2))
  const post = `https://agents.test/agents/echo/posts/${id}`
  expect(postedOf('Delete')[0]).toMatchObject({ actor: echoActor, object: { id: post, type: 'Tombstone' } })
  expect(await readPost(post)).toMatchObject({
    status: 410,
    document: { id: post, type: 'Tombstone', formerType: 'Note', deleted: expect.any(String) },
  })
  expect(await publisher.edit(id, 'again')).toMatchObject({
    refused: true,
    message: expect.stringContaining('was deleted'),
  })
  const outbox = await stage.gateway.app.request('/agents/echo/outbox', {
    headers: { accept: 'application/activity+json' },
  })
  expect(await outbox.json()).toMatchObject({ totalItems: 0 })
})

test('the gateway sends the Delete of a post only after the pending Create has arrived', async () => {
  const { alice, mallory, peer } = await openWith((message, context) => {
    if (readText(message.parts) === 'go on') return 'too soon'
    context.delete(String(message.in_reply_to?.split('/').at(-1)))
    return undefined
  })
  const order: string[] = []
  let takeIn = () => {}
  const createAccepted = new Promise<void>(resolve => {
    takeIn = resolve
  })
  peer.serve('https://good.test/inbox', async ({ body }) => {
    const { type } = JSON.parse(body)
    order.push(`${type} begins`)
    if (type === 'Create') await createAccepted
    order.push(`${type} ends`)
    return { status: 202 }
  })
  await ask(alice)
  await vi.waitFor(() => expect(order).toEqual(['Create begins']))
  const { object } = postedOf('Create')[0] as Posted
  await ask(mallory, 'take it back', { inReplyTo: object.id })
  await vi.waitFor(async () => expect((await readPost(object.id)).status).toBe(410))
  setTimeout(takeIn, 300)
  await vi.waitFor(() => expect(order).toContain('Delete ends'))
  expect(order).toEqual(['Create begins', 'Create ends', 'Delete begins', 'Delete ends'])
})

test('a like and a boost name their object, and the agent can undo both', async () => {
  const { alice, mallory } = await openWith(({ parts }, { react }) => {
    const [part] = parts
    const undo = part?.kind === 'text' && part.content === 'undo'
    if (undo) return undefined
    react('like')
    react('boost')
    return undefined
  })
  await follow(mallory)
  const note = composeNote(alice)
  await postActivity(stage.gateway, alice, note)
  await vi.waitFor(() => expect([...postedOf('Like'), ...postedOf('Announce')]).toHaveLength(3))
  const object = (note.object as { id: string }).id
  expect(postedOf('Like')).toMatchObject([{ host: 'good.test', path: '/users/alice/inbox', actor: echoActor, object }])
  expect(
    postedOf('Announce')
      .map(({ host }) => host)
      .sort(),
  ).toEqual(['evil.test', 'good.test'])
  expect(postedOf('Announce')[0]).toMatchObject({
    to: [publicCollection],
    cc: [`${echoActor}/followers`, alice.id],
    object,
  })
  const publisher = openPublisher()
  await publisher.react('unlike', String(note.id))
  await publisher.react('unboost', String(note.id))
  await vi.waitFor(() => expect(postedOf('Undo')).toHaveLength(3))
  expect(
    postedOf('Undo')
      .map(({ object: { type } }) => type)
      .sort(),
  ).toEqual(['Announce', 'Announce', 'Like'])
})

test('a boost goes once to each inbox, through the shared inbox if the server has one', async () => {
  const { alice, mallory } = await openWith((_, { react }) => {
    react('boost')
    return undefined
  })
  await follow(alice)
  await follow(mallory)
  const note = composeNote(alice)
  await postActivity(stage.gateway, alice, note)
  const reached = (type: string) => postedOf(type).map(({ host, path }) => host + path)
  const everybody = ['evil.test/inbox', 'good.test/inbox']
  await vi.waitFor(() => expect(reached('Announce')).toHaveLength(2))
  await openPublisher().react('unboost', String(note.id))
  await vi.waitFor(() => expect(reached('Undo')).toHaveLength(2))
  const open = async () =>
    (await stage.gateway.store.listDeliveries({ limit: 50 })).filter(({ state }) => state !== 'sent')
  await vi.waitFor(async () => expect(await open()).toEqual([]))
  expect([reached('Announce').toSorted(), reached('Undo').toSorted()]).toEqual([everybody, everybody])
})

test('the gateway does not boost a post that is not public', async () => {
  const { alice, mallory, gateway } = await openWith(() => ({ acts: [{ act: 'boost' }, { act: 'like' }] }))
  await follow(mallory)
  await postActivity(gateway, alice, composeNote(alice, { to: [echoActor], cc: [] }, { to: [echoActor], cc: [] }))
  await vi.waitFor(() => expect(postedOf('Like')).toHaveLength(1))
  expect(postedOf('Announce')).toEqual([])
})

test('an agent cannot change another agent’s post', async () => {
  const { alice } = await openWith(() => 'mine')
  await ask(alice)
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
  const [{ object: note }] = postedOf('Create') as [Posted]
  const { store, system, channel } = stage.gateway
  const other = createPublisher({
    actingAgent: { agent: 'help', address: '@help@agents.test' },
    gateway: { store, system, channels: [channel] },
    signal: new AbortController().signal,
    log: system.log,
  })
  const id = note.id.split('/').at(-1) ?? ''
  const refused = { refused: true, message: expect.stringContaining('this agent has no answer or post with this id') }
  expect(await other.edit(id, 'yours')).toMatchObject(refused)
  expect(await other.delete(id)).toMatchObject(refused)
})

test('a long answer is a thread whose posts answer each other, and readers can fetch each post', async () => {
  const words = Array.from({ length: 300 }, (_, number) => `word${number}`)
  const { alice } = await openWith(() => words.join(' '))
  await ask(alice)
  await vi.waitFor(() => expect(postedOf('Create').length).toBeGreaterThan(4))
  const posts = postedOf('Create').map(({ object }) => object)
  expect(posts.map(({ inReplyTo }) => inReplyTo).slice(1)).toEqual(posts.map(({ id }) => id).slice(0, -1))
  expect(new Set(posts.map(({ id }) => id)).size).toBe(posts.length)
  expect(posts.flatMap(({ content }) => content.match(/word\d+/g) ?? [])).toEqual(words)
  for (const { content } of posts) expect(content.replace(/<[^>]+>/g, '').length).toBeLessThanOrEqual(500)
  expect(posts.every(({ tag }) => JSON.stringify(tag).includes(alice.id))).toBe(true)
  const served = await Promise.all(posts.map(({ id }) => readPost(id)))
  expect(served.map(({ document }) => (document as Posted['object']).content)).toEqual(
    posts.map(({ content }) => content),
  )
  expect((await readPost(`${posts[0]?.id}.${posts.length + 1}`)).status).toBe(404)
})

test('a picture is a Document with our URL, without bytes in the activity', async () => {
  const bytes = Buffer.from('not really a picture').toString('base64')
  const { alice } = await openWith(() => ({
    parts: [
      { kind: 'text', mime: 'text/plain', content: 'Look' },
      { kind: 'file', name: 'A cat', mime: 'image/png', bytes_ref: { kind: 'inline', data_base64: bytes } },
    ],
  }))
  await ask(alice)
  await vi.waitFor(() => expect(postedOf('Create')).toHaveLength(1))
  const [{ object: note }] = postedOf('Create') as [Posted]
  expect(note.attachment).toEqual([
    {
      type: 'Document',
      url: expect.stringMatching(/^https:\/\/agents\.test\/attachments\/[0-9a-f]{64}\?token=t$/),
      mediaType: 'image/png',
      name: 'A cat',
    },
  ])
  expect(note.content).not.toContain('cat')
  const digest = /attachments\/([0-9a-f]{64})/.exec(JSON.stringify(note.attachment))?.[1] ?? ''
  expect(Buffer.from((await stage.gateway.store.findBlob(digest))?.bytes ?? []).toString()).toBe('not really a picture')
})

/** Adds followers as if they had followed one after the other. */
async function addFollowers(host: string, names: readonly string[]): Promise<void> {
  const { gateway, alice } = stage
  await follow(alice)
  const [stored] = await gateway.store.listMessages({ limit: 1 })
  const effects = names.map(name => {
    const peer = `https://${host}/users/${name}`
    return { kind: 'relate', relation: 'follower', peer, target: { inbox: `${peer}/inbox` } } as const
  })
  await gateway.store.decide(stored?.message ?? 0, { effects, deliveries: [] })
}

test('an answer does not wait for a followers’ post that hanging servers delay', async () => {
  const { alice, peer } = await openWith(() => 'at once')
  const names = Array.from({ length: 20 }, (_, number) => `u${number}`)
  for (const name of names) peer.serve(`https://evil.test/users/${name}/inbox`, 'hang')
  await addFollowers('evil.test', names)
  await openPublisher().post('To all')
  await vi.waitFor(() => expect(posted().filter(({ host }) => host === 'evil.test').length).toBeGreaterThan(1))
  await ask(alice)
  await vi.waitFor(() => expect(posted().some(({ object }) => object.content?.includes('at once'))).toBe(true))
})

test('a post reaches each of a thousand followers once', async () => {
  await openWith(() => undefined)
  const names = Array.from({ length: 1_000 }, (_, number) => `u${number}`)
  await addFollowers('good.test', names)
  await openPublisher().post('To all')
  const reached = () => postedOf('Create').filter(({ path }) => /^\/users\/u\d+\/inbox$/.test(path))
  await vi.waitFor(() => expect(reached()).toHaveLength(1_000), { timeout: 60_000, interval: 200 })
  expect(new Set(reached().map(({ path }) => path)).size).toBe(1_000)
}, 90_000)
