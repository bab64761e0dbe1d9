import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReplayReport } from '@postern/operator'
import { openRemoteClient } from '@postern/operator/client'
import type { ApiOutput } from '@postern/operator/commands'
import { printReplay, printReplays } from '@postern/operator/views'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'
import { postJson, replayAll, replayOne } from './replay-gateway.ts'

const plain = { use: '../agents/replayed/plain.ts' }
const changedModule = '../agents/replayed/edited-plain.ts'
const courier = { use: '../agents/calling/courier.ts' }

let web: WebGateway
let gateway: TestGateway

beforeAll(async () => {
  web = await openWebGateway({}, { agents: { desk: plain, chat: plain, courier }, default_agent: 'chat' })
  gateway = web.gateway
})
afterAll(() => web.close())

const sendAndAwait = (via: 'activitypub' | 'a2a' | 'email', text: string, thread?: string) =>
  gateway.simulation.send({ via, to: 'desk', text, ...(thread && { thread }) })

/** Returns all messages and deliveries, and the number of posts and mails that have reached peers, once every delivery is sent. */
async function takeStock() {
  const deliveries = await eventually(async () => {
    const deliveryList = await gateway.deliveries()
    return deliveryList.every(({ state }) => state === 'sent') && deliveryList
  })
  const messages = await gateway.messages()
  const { fediverse, mail } = gateway.simulation
  return { messages, deliveries, posts: fediverse.received.length, mails: mail.received.length }
}

async function findNumber(id: string): Promise<number> {
  return (await gateway.readMessage(id)).number
}

describe('a replay with the original code', () => {
  test('shows no difference for conversations of mail, fediverse, A2A and chat, and changes nothing', async () => {
    for (const via of ['activitypub', 'a2a', 'email'] as const) {
      const { thread } = await sendAndAwait(via, `first by ${via}`)
      await sendAndAwait(via, 'second', thread)
    }
    await web.runChat('first in the chat', { threadId: 'replayed' })
    await web.runChat('second', { threadId: 'replayed' })
    const stockBefore = await takeStock()
    const reports = await replayAll(gateway)
    expect(reports.filter(({ outcome }) => outcome !== 'same')).toEqual([])
    const channels = reports.map(({ via }) => via).toSorted()
    expect(channels).toEqual(['a2a', 'a2a', 'activitypub', 'activitypub', 'email', 'email', 'web', 'web'])
    expect(reports.filter(({ not_called }) => not_called !== undefined)).toEqual([])
    expect(await takeStock()).toEqual(stockBefore)
  })

  test('uses the recorded time, keys and documents, and fetches nothing', async () => {
    const notedMessage = await sendAndAwait('activitypub', 'while all is there')
    const mailed = await sendAndAwait('email', 'while all is there')
    await gateway.restart()
    const { fediverse, dns } = gateway.simulation
    const fixes = [fediverse.disturb('mastodon.test', { answer: { status: 410 } })]
    const record = dns.find('sim._domainkey.alice.test')
    dns.set('sim._domainkey.alice.test', {})
    dns.set('alice.test', { ...dns.find('alice.test'), TXT: ['v=spf1 -all'] })
    try {
      for (const { id } of [notedMessage, mailed]) {
        expect((await replayOne(gateway, id)).json).toMatchObject({ outcome: 'same' })
      }
      const now = await Promise.all([notedMessage, mailed].map(({ id }) => replayOne(gateway, id, { clock: 'now' })))
      expect(now.map(({ json: { outcome, reason } }) => ({ outcome, reason }))).toEqual([
        { outcome: 'refused', reason: expect.stringMatching(/^signature_invalid: .*its actor is gone/) },
        { outcome: 'refused', reason: expect.stringMatching(/^forbidden: .*the DMARC policy of the From domain/) },
      ])
    } finally {
      for (const fix of fixes) fix()
      dns.set('sim._domainkey.alice.test', record ?? {})
      dns.set('alice.test', { ...dns.find('alice.test'), TXT: ['v=spf1 ip4:127.0.0.1 -all'] })
    }
  })

  test('accepts a Message-ID with or without angle brackets', async () => {
    const { id } = await sendAndAwait('email', 'named in two ways')
    const idWithoutBrackets = id.replace(/^<|>$/g, '')
    for (const reference of [idWithoutBrackets, `<${idWithoutBrackets}>`]) {
      expect((await replayOne(gateway, reference)).json).toMatchObject({ outcome: 'same' })
    }
  })

  test('keeps the addresses and text of a chat, with the tokens that the stored request omits', async () => {
    const image = (value: string) => ({ type: 'image', source: { type: 'url', value, mimeType: 'image/png' } })
    const text = 'see https://files.example/list?token=first'
    const content = [
      { type: 'text', text },
      image('https://files.example/get?id=7&token=first'),
      image('https://files.example/get?id=7&token=second'),
      image('https://xxx.supabase.co/storage/v1/object/sign/agent-files/a/img.jpg?token=third'),
      image(`${gatewayOrigin}/storage/v1/object/sign/attachments/a/img.jpg?token=of.another.one`),
    ]
    await web.runChat(content, { id: 'with-tokens' })
    const { json } = await replayOne(gateway, 'with-tokens')
    expect(json).toMatchObject({ outcome: 'same', normalized: [] })
    const { message } = (await gateway.readMessage('with-tokens')) as unknown as {
      message: { parts: readonly object[] }
    }
    expect(message.parts).toMatchObject([
      { kind: 'text', content: text },
      { kind: 'file', bytes_ref: { url: 'https://files.example/get?id=7&token=first' } },
      { kind: 'file', bytes_ref: { url: 'https://files.example/get?id=7&token=second' } },
      { kind: 'file', bytes_ref: { url: expect.stringMatching(/^https:\/\/xxx\.supabase\.co\/.*\?token=third$/) } },
      { kind: 'link', url: `${gatewayOrigin}/storage/v1/object/sign/attachments/a/img.jpg` },
    ])
  })

  test('finds an old signature expired when it uses today’s time', async () => {
    const { id } = await sendAndAwait('activitypub', 'will be old')
    const { system } = gateway.gateway()
    const { now } = system
    Object.assign(system, { now: () => now() + 3 * 86_400_000 })
    try {
      const { json } = await replayOne(gateway, id, { clock: 'now' })
      expect(json).toMatchObject({ outcome: 'refused', reason: expect.stringMatching(/^expired: /) })
      expect((await replayOne(gateway, id)).json.outcome).toBe('same')
    } finally {
      Object.assign(system, { now })
    }
  })

  test('keeps no credential of a caller', async () => {
    const { id } = await sendAndAwait('a2a', 'with a token')
    const { store } = gateway.gateway()
    const arrived = await store.findArrival(await findNumber(id))
    expect(JSON.stringify(arrived?.arrival)).toMatch(/"subject":"peer"/)
    expect(JSON.stringify(arrived?.arrival)).not.toMatch(/Bearer [\w-]|eyJ/)
  })
})

describe('a replay with a changed agent', () => {
  const otherParts = [{ kind: 'text', mime: 'text/markdown', content: 'In other words' }]

  test('shows the new answer and its deliveries, without storing or sending', async () => {
    const sentMessages = await Promise.all([
      sendAndAwait('activitypub', 'hello'),
      sendAndAwait('email', 'hello'),
      sendAndAwait('a2a', 'hello'),
    ])
    const stockBefore = await takeStock()
    for (const { id } of sentMessages) {
      const { json } = await replayOne(gateway, id, { use: changedModule })
      const contents = json.response.find(({ path }) => path === 'parts.0.content')
      expect(json).toMatchObject({ outcome: 'changed', proofs: [], normalized: [], answer: otherParts })
      expect(contents).toEqual({
        path: 'parts.0.content',
        before: expect.stringMatching(/characters/),
        after: 'In other words',
      })
      if (json.via !== 'a2a') expect(JSON.stringify(json.wire)).toContain('In other words')
    }
    expect(await takeStock()).toEqual(stockBefore)
  })

  test('changes the post that was the answer with --commit, once', async () => {
    const { id } = await sendAndAwait('activitypub', 'to be corrected')
    const stockBefore = await takeStock()
    const { json } = await replayOne(gateway, id, { use: changedModule, commit: true })
    expect(json.queued).toMatchObject({ kind: 'edit', response: (await gateway.readMessage(id)).response?.id })
    const { activity } = await gateway.simulation.fediverse.awaitActivity(
      receivedActivity => receivedActivity.verified && receivedActivity.activity.type === 'Update',
      30_000,
    )
    expect(JSON.stringify(activity)).toContain('In other words')
    const secondReplay = await replayOne(gateway, id, { use: changedModule, commit: true })
    expect(secondReplay.json).toMatchObject({
      outcome: 'same',
      queued: { kind: 'nothing', reason: 'the answer is the same' },
    })
    const stockAfter = await takeStock()
    expect(stockAfter.messages).toHaveLength(stockBefore.messages.length)
    expect(stockAfter.posts).toBe(stockBefore.posts + 1)
  })

  test('keeps the answer to a call with --commit', async () => {
    const { id } = await sendAndAwait('a2a', 'said is said')
    const recordBefore = await gateway.readMessage(id)
    const { json } = await replayOne(gateway, id, { use: changedModule, commit: true })
    expect(json.queued).toEqual({ kind: 'nothing', reason: 'an answer by a2a cannot be changed once it is sent' })
    expect((await gateway.readMessage(id)).response).toEqual(recordBefore.response)
  })

  test('gives a message without an answer its first one with --commit, and no second', async () => {
    const { objectId } = await gateway.simulation.fediverse.deliver({ to: '@desk@agents.test', text: 'say nothing' })
    const id = `${objectId}/activity`
    await eventually(async () => (await gateway.readMessage(id)).state === 'ignored')
    expect((await gateway.readMessage(id)).response).toBeNull()
    const first = await replayOne(gateway, id, { use: changedModule, commit: true })
    expect(first.json.queued).toMatchObject({ kind: 'answer' })
    const { activity } = await gateway.simulation.fediverse.awaitReply(objectId, 30_000)
    expect(JSON.stringify(activity)).toContain('In other words')
    const second = await replayOne(gateway, id, { use: changedModule, commit: true })
    expect(second.json.queued).toEqual({ kind: 'nothing', reason: 'an earlier replay has answered the message' })
  })

  test('loads the agent’s file anew each time', async () => {
    const { id } = await sendAndAwait('a2a', 'edited twice')
    const file = join(import.meta.dirname, `../agents/replayed/temporary-${process.pid}.ts`)
    try {
      const contents: (ReplayReport['answer'] | undefined)[] = []
      for (const text of ['one', 'two']) {
        writeFileSync(file, `export const handle = () => '${text}'\n`)
        contents.push((await replayOne(gateway, id, { use: file })).json.answer)
      }
      expect(contents.map(parts => JSON.stringify(parts?.[0]))).toEqual([
        expect.stringContaining('"one"'),
        expect.stringContaining('"two"'),
      ])
    } finally {
      rmSync(file)
    }
  })

  test.each([
    ['outside of the project', () => join(mkdtempSync(join(tmpdir(), 'postern-outside-')), 'agent.ts'), 403],
    ['outside of it behind a link', () => linkOutside(), 403],
    ['that is not there', () => '../agents/replayed/nobody.ts', 400],
    ['that is no module', () => writeText(), 400],
  ])('refuses a file %s', async (_, locate, status) => {
    const { id } = await sendAndAwait('a2a', 'hello')
    const use = locate()
    if (use.startsWith('/tmp')) writeFileSync(use, 'export const handle = () => "no"\n')
    expect((await replayOne(gateway, id, { use })).status).toBe(status)
  })

  function writeText(): string {
    const file = join(import.meta.dirname, `../agents/replayed/words-${process.pid}.txt`)
    onTestFinished(() => rmSync(file))
    writeFileSync(file, 'words')
    return file
  }

  function linkOutside(): string {
    const target = join(mkdtempSync(join(tmpdir(), 'postern-linked-')), 'agent.ts')
    writeFileSync(target, 'export const handle = () => "no"\n')
    const folder = mkdtempSync(join(import.meta.dirname, '../agents/replayed/link-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const link = join(folder, 'agent.ts')
    symlinkSync(target, link)
    return link
  }
})

describe('a replay of a range', () => {
  test('covers the messages of its channel, agent and time, page by page, newest first', async () => {
    const startedAt = new Date().toISOString()
    const ids: string[] = []
    for (const via of ['a2a', 'email', 'a2a', 'a2a'] as const) ids.push((await sendAndAwait(via, 'in the range')).id)
    const expected = ids.filter((_, index) => index !== 1).toReversed()
    const page = await postJson<{ items: ReplayReport[]; next: number | null }>(gateway, '/replay', {
      since: startedAt,
      channel: 'a2a',
      limit: 2,
    })
    expect(page.json.items.map(({ id }) => id)).toEqual(expected.slice(0, 2))
    const reports = await replayAll(gateway, { since: startedAt, channel: 'a2a', limit: 1 })
    expect(reports.map(({ id }) => id)).toEqual(expected)
    expect(await replayAll(gateway, { since: startedAt, agent: 'chat' })).toEqual([])
    expect(await replayAll(gateway, { until: startedAt, since: startedAt })).toEqual([])
  })

  test.each([
    [{ limit: 101 }, /limit/],
    [{ colour: 'red' }, /colour/],
    [{ use: changedModule }, /name it as "agent"/],
    [{ commit: true }, /commit/],
  ])('fails with %j', async (body, detail) => {
    const { status, json } = await postJson<object>(gateway, '/replay', body)
    expect({ status, detail: json.detail }).toEqual({ status: 400, detail: expect.stringMatching(detail) })
  })

  test('skips withdrawn messages', async () => {
    const { objectId } = await gateway.simulation.fediverse.deliver({ to: '@desk@agents.test', text: 'not for long' })
    await gateway.simulation.fediverse.awaitReply(objectId, 30_000)
    await gateway.simulation.fediverse.send({ to: '@desk@agents.test', type: 'Delete', object: objectId })
    await eventually(async () => (await gateway.readMessage(`${objectId}/activity`)).flags.includes('deleted'))
    const { json } = await replayOne(gateway, `${objectId}/activity`)
    expect(json).toMatchObject({ outcome: 'skipped', reason: 'its bytes were deleted' })
    const { store } = gateway.gateway()
    expect((await store.findArrival(json.message))?.arrival).toBeUndefined()
  })
})

describe('postern replay', () => {
  async function runCommand(command: (output: ApiOutput) => Promise<void>) {
    const lines: string[] = []
    const client = openRemoteClient({ url: gateway.url(), token: operatorToken })
    process.exitCode = undefined
    await command({ openClient: async () => client, json: false, print: text => lines.push(text) })
    const { exitCode } = process
    process.exitCode = undefined
    return { text: lines.join('\n'), exitCode }
  }

  test('prints the answer of a changed agent, and exits with 1', async () => {
    const { id } = await sendAndAwait('a2a', 'hello')
    const { text, exitCode } = await runCommand(output => printReplay(output, id, { agent: changedModule }))
    expect(text).toMatch(
      /a2a to desk at .*: changed\n {2}answer parts\.0\.content\n {4}- 5 characters.*\n {4}\+ In other words/,
    )
    expect(exitCode).toBe(1)
  })

  test('counts the messages of a range, and exits with 0 when nothing differs', async () => {
    const startedAt = new Date().toISOString()
    await sendAndAwait('email', 'hello')
    const { text, exitCode } = await runCommand(output => printReplays(output, { since: startedAt, channel: 'email' }))
    expect(text).toBe('1 replayed: 1 the same, 0 changed, 0 refused, 0 skipped')
    expect(exitCode).toBeUndefined()
  })

  test('cannot commit a range', async () => {
    const committing = runCommand(output => printReplays(output, { commit: true }))
    await expect(committing).rejects.toThrow('--commit is for one message')
  })
})

describe('a replay of a turn that called another local agent', () => {
  test('reports the skipped call, which is not a different answer', async () => {
    const { id } = await gateway.simulation.send({ via: 'a2a', to: 'courier', text: 'call:@desk@agents.test hello' })
    expect(JSON.stringify((await gateway.readMessage(id)).response)).toContain('5 characters')
    const stockBefore = await takeStock()
    const { json } = await replayOne(gateway, id)
    expect(json).toMatchObject({ outcome: 'same', response: [] })
    expect(json.not_called).toBe('it calls @desk@agents.test, who would get the call again; --call makes such calls')
    expect(json.answer).toBeUndefined()
    expect((await takeStock()).messages).toHaveLength(stockBefore.messages.length)
  })

  test('repeats the call with --call', async () => {
    const { id } = await gateway.simulation.send({ via: 'a2a', to: 'courier', text: 'call:@desk@agents.test again' })
    const stockBefore = await takeStock()
    const { json } = await replayOne(gateway, id, { call: true })
    expect(json).toMatchObject({ outcome: 'same', response: [] })
    expect(json.not_called).toBeUndefined()
    expect((await takeStock()).messages).toHaveLength(stockBefore.messages.length + 1)
  })
})

test('a replay calls an agent on another host only on request', async () => {
  const { id } = await sendAndAwait('a2a', 'hello')
  let calls = 0
  const server = createServer((_, answer) => {
    calls += 1
    answer
      .setHeader('content-type', 'application/json')
      .end('{"parts":[{"kind":"text","mime":"text/plain","content":"out"}]}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const agentConfig = { use: 'webhook', url: `http://127.0.0.1:${port}/`, secret: 'a-secret-of-the-tests-0123456789' }
  await gateway.restart({ agents: { desk: agentConfig, chat: plain } })
  const quiet = await replayOne(gateway, id)
  expect(quiet.json.not_called).toMatch(/--call calls it/)
  expect(calls).toBe(0)
  const callingReplay = await replayOne(gateway, id, { call: true })
  expect(callingReplay.json.not_called).toBeUndefined()
  expect(calls).toBe(1)
})
