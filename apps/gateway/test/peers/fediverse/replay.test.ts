import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { performActions } from '@postern/pipeline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { parseConfig } from '../../../src/config/read-config.ts'
import type { Gateway } from '../../../src/gateway.ts'
import { openGateway } from '../../../src/gateway.ts'
import { createLog } from '../../../src/observe/log.ts'
import type { CapturedRequest } from '../captured.ts'
import { ourOrigin, snacHost } from '../names.ts'
import { snacActorPaths, snacFixtureFolder } from './snac-fixtures.ts'

// These tests replay the requests that a real snac2 sent, with the clock set to the time when it sent them.

type Captured = Omit<CapturedRequest, 'answer'>

const readFixture = <Value>(name: string): Value =>
  JSON.parse(readFileSync(join(snacFixtureFolder, name), 'utf8')) as Value
const names = readdirSync(snacFixtureFolder).filter(name => /^\d\d-/.test(name))
const actors = Object.entries(snacActorPaths).map(([name, path]) => {
  return { path, answer: readFixture<CapturedRequest['answer']>(name) }
})
const webFinger = readFixture<CapturedRequest['answer']>('webfinger.json')
const mention = names.find(name => name.endsWith('create.json')) ?? ''

interface PostedToSnac {
  readonly type: string
  readonly object: { readonly inReplyTo?: string; readonly content?: string }
}

let gateway: Gateway
let port = 0
const postedRequests: PostedToSnac[] = []
let arrived = () => {}

/** This snac only serves the documents that the real one served, and accepts every delivery. */
const snac = createServer(async (incoming, outgoing) => {
  if (incoming.method === 'POST') {
    postedRequests.push(JSON.parse(await text(incoming)))
    outgoing.writeHead(202).end()
    return arrived()
  }
  const actor = actors.find(({ path }) => path === incoming.url)?.answer
  const answer = incoming.url?.startsWith('/.well-known/webfinger') ? webFinger : actor
  if (!answer) return outgoing.writeHead(404).end()
  outgoing.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body)
})

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(readFixture<Captured>(mention).receivedAt) })
  postedRequests.length = 0
  await new Promise<void>(resolve => snac.listen(0, '127.0.0.1', resolve))
  const config = parseConfig({
    dev: true,
    origin: ourOrigin,
    listen: { port: 0 },
    data: mkdtempSync(join(tmpdir(), 'postern-replay-')),
    agents: {
      echo: { name: 'Echo', description: 'Answers what you said', use: 'builtin:echo' },
      patient: { name: 'Patient', description: 'Thinks first', use: 'builtin:echo' },
    },
    network: { loopback: { [snacHost]: (snac.address() as AddressInfo).port } },
    log: { level: 'silent' },
  })
  const log = createLog({ level: 'silent', readable: false })
  gateway = await openGateway(config, { baseDir: import.meta.dirname, log, operatorToken: 'unused' })
  port = (await gateway.start())[0]?.port ?? 0
})

afterEach(async () => {
  await gateway.stop()
  await new Promise(resolve => {
    snac.close(resolve)
    snac.closeAllConnections()
  })
  vi.useRealTimers()
})

/** Sets the clock to the time of the request plus `laterMs`, and replays the request. */
async function replay(name: string, { laterMs = 0, change = (body: string) => body } = {}) {
  const { receivedAt, method, target, headers, body } = readFixture<Captured>(name)
  vi.setSystemTime(Date.parse(receivedAt) + laterMs)
  const sentBody = change(body)
  const length = headers.map(([key, value]) =>
    key.toLowerCase() === 'content-length' ? [key, String(Buffer.byteLength(sentBody))] : [key, value],
  )
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path: target, headers: length.flat(), agent: false })
      .once('response', resolve)
      .once('error', reject)
      .end(sentBody)
  })
  const problem = await text(answer)
  return { status: answer.statusCode, code: problem ? (JSON.parse(problem) as { code?: string }).code : undefined }
}

const listMessages = () => gateway.store.listMessages({ limit: 100 })

test('the gateway accepts all that the server sent, in the order of arrival', async () => {
  for (const name of names) expect({ name, ...(await replay(name)) }).toEqual({ name, status: 202, code: undefined })
  expect(names.length).toBeGreaterThan(5)
})

const readActivity = (name: string) =>
  JSON.parse(readFixture<Captured>(name).body) as { id: string; type: string; object: unknown }

/** Creates the post that the request likes and boosts; here the agent has written another text under the same name. */
async function postBefore(): Promise<void> {
  const liked = names.map(readActivity).find(({ type }) => type === 'Like')?.object
  const id = String(liked).split('/').at(-1)
  const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'hello' }]
  const { store, system, channels } = gateway
  await performActions(
    [{ act: 'post', id, parts }],
    { agent: 'echo', address: '@echo@agents.test' },
    { store, system, channels },
  )
}

test('the gateway recognizes each kind of activity that it knows', async () => {
  await postBefore()
  const readings = new Map<string, Set<string | undefined>>()
  for (const name of names) {
    await replay(name)
    const { id, type } = readActivity(name)
    const record = await gateway.store.findMessage(id)
    readings.set(type, (readings.get(type) ?? new Set()).add(record?.message.kind))
  }
  expect(Object.fromEntries(readings)).toEqual({
    Follow: new Set(['follow']),
    // Posts of alice that address nobody here arrive too, because snac sends public notes to every server it knows.
    Create: new Set(['message', undefined]),
    Like: new Set(['reaction']),
    Announce: new Set(['reaction']),
    Undo: new Set(['reaction', 'unfollow']),
    Update: new Set(['edit']),
    Delete: new Set(['delete']),
    Ping: new Set([undefined]),
    Move: new Set(['message']),
  })
})

test('a follower stays until they undo the follow', async () => {
  const key = { via: 'activitypub', agent: 'echo', relation: 'follower', peer: 'https://snac.test/alice' } as const
  const states: [string, boolean][] = []
  for (const name of names.filter(name => /-follow|-undo/.test(name))) {
    await replay(name)
    states.push([name.replace(/^\d+-|\.json$/g, ''), (await gateway.store.findRelation(key)) !== undefined])
  }
  expect([states[0], states.at(-1)]).toEqual([
    ['follow', true],
    ['undo', false],
  ])
})

test('a mention is a message of the confirmed sender, and gets an answer', async () => {
  const hasArrived = new Promise<void>(resolve => {
    arrived = resolve
  })
  await replay(mention)
  await hasArrived
  const { body } = readFixture<Captured>(mention)
  const { id, object } = JSON.parse(body) as { id: string; object: { id: string; context: string } }
  const record = await gateway.store.findMessage(id)
  expect(record?.message).toMatchObject({
    id,
    thread_source: object.context,
    recipient: '@echo@agents.test',
    parts: [{ kind: 'text', content: 'hello from another house' }],
    sender: { address: '@alice@snac.test', verified: true, key_id: 'https://snac.test/alice#main-key' },
  })
  expect(postedRequests).toMatchObject([
    {
      type: 'Create',
      object: { inReplyTo: object.id, content: expect.stringContaining('hello from another house') },
    },
  ])
})

test('the gateway refuses the same request two hours later', async () => {
  expect(await replay(mention, { laterMs: 2 * 3_600_000 })).toEqual({ status: 401, code: 'expired' })
  expect(await listMessages()).toEqual([])
})

test('the gateway refuses a request with one changed letter', async () => {
  const change = (body: string) => body.replace('another house', 'another mouse')
  expect(await replay(mention, { change })).toEqual({ status: 401, code: 'signature_invalid' })
  expect(await listMessages()).toEqual([])
})

test('a repeated request gets the same answer and takes effect once', async () => {
  const answers = [await replay(mention), await replay(mention)]
  expect(answers.map(({ status }) => status)).toEqual([202, 202])
  expect(await listMessages()).toHaveLength(1)
})
