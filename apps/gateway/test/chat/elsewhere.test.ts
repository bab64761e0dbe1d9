import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { readConfided } from '../setup/people-gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'
import type { HistoryMessage, PeopleChatGateway, Thread } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests cover C-30: a conversation that began on another channel continues in its owner's chat, and its answers leave by the first channel.

let gateway: PeopleChatGateway

beforeAll(async () => {
  gateway = await openPeopleChatGateway({ email: { reply_all: true, listen: { port: 0, protocol: 'smtp' } } })
})
afterAll(() => gateway.close())

interface Note {
  readonly id: string
  readonly inReplyTo: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly content: string
  readonly tag: readonly { readonly href: string; readonly name: string }[]
}

/** Returns every post to an account with this text, repetitions included. */
const notesTo = (actor: string, text: string): readonly Note[] =>
  gateway.gateway.simulation.fediverse.received
    .map(({ activity }) => activity.object as Note)
    .filter(note => note?.to?.includes(actor) && note.content.includes(text))

describe('a thread that began on the fediverse', () => {
  const alice = 'https://mastodon.test/users/alice'
  let threadId = ''

  test('is in nobody’s chat before its owner links the account (C-30)', async () => {
    await gateway.askByPost('my order is late')
    expect(await gateway.threads()).toEqual([])
    const { text } = await gateway.linkAccount('alice@mastodon.test')
    expect(text).toContain('Done: @alice@mastodon.test is linked with this address.')
  })

  test('appears to its owner with its messages in order, each with its channel (C-30)', async () => {
    const thread = (await gateway.threads()).find(({ via }) => via === 'activitypub')
    expect(thread).toMatchObject({
      beginning: 'my order is late',
      threadId: expect.stringMatching(/^activitypub:\d+$/),
    })
    threadId = thread?.threadId ?? ''
    const messages = await gateway.read(threadId)
    expect(messages.map(({ seq, role, metadata }) => [seq, role, metadata.via])).toEqual([
      [1, 'user', 'activitypub'],
      [2, 'assistant', 'activitypub'],
    ])
    expect(messages[0]?.content).toBe('my order is late')
  })

  test('streams a chat reply and delivers it once to its fediverse author only (C-30)', async () => {
    const { text, events } = await gateway.chat('is it on its way?', { threadId })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(readConfided(text).past).toContain('activitypub: my order is late')
    const [note] = await eventually(async () => {
      const notes = notesTo(alice, 'activitypub: my order is late')
      return notes.length > 0 && notes
    })
    expect(note).toMatchObject({ to: [alice], cc: [], tag: [{ href: alice, name: '@alice@mastodon.test' }] })
    expect(note?.inReplyTo).toMatch(/^https:\/\/mastodon\.test\//)
    expect(notesTo(alice, 'activitypub: my order is late')).toHaveLength(1)
  })

  test('keeps earlier messages of both channels for the agent, and shows them in order after a reload (C-30, C-27)', async () => {
    const { text } = await gateway.chat('and by train?', { threadId })
    expect(readConfided(text).past).toEqual(['activitypub: my order is late', 'activitypub: is it on its way?'])
    const messages = await gateway.read(threadId)
    expect(messages.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(messages.map(({ metadata }) => metadata.via)).toEqual([
      ...['activitypub', 'activitypub', 'web', 'activitypub', 'web', 'activitypub'],
    ])
    expect(messages[2]).toMatchObject({ role: 'user', content: 'is it on its way?' })
  })

  test('starts only one run for a run id, whatever the thread (C-26)', async () => {
    const body = {
      threadId,
      runId: uniqueName('run'),
      messages: [{ id: uniqueName('msg'), role: 'user', content: 'twice' }],
    }
    const responses = await Promise.all([
      gateway.postRun(body),
      gateway.postRun({ ...body, threadId: uniqueName('thread') }),
    ])
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
    await Promise.all(responses.map(answer => answer.text()))
    expect((await gateway.postRun(body)).status).toBe(409)
  })

  test('is hidden from everybody else: others can neither read it nor write in it (C-07)', async () => {
    const body = {
      threadId,
      runId: uniqueName('run'),
      messages: [{ id: uniqueName('msg'), role: 'user', content: 'let me in' }],
    }
    const pairs: readonly (readonly [Response, Response])[] = [
      [await gateway.history(threadId, 'bob'), await gateway.history('activitypub:999999', 'bob')],
      [await gateway.postRun(body, 'bob'), await gateway.postRun({ ...body, threadId: 'activitypub:999999' }, 'bob')],
      [await gateway.history(threadId, 'ann', 'quiet'), await gateway.history('activitypub:999999', 'ann', 'quiet')],
      [await gateway.history(threadId.replace('activitypub', 'email')), await gateway.history('email:999999')],
    ]
    for (const [answer, missing] of pairs) {
      expect(answer.status).toBe(404)
      expect(await answer.text()).toBe(await missing.text())
    }
    expect(await gateway.threads('bob')).toEqual([])
    expect(await (await gateway.history(threadId, 'bob')).json()).toMatchObject({
      code: 'no_recipient',
      detail: 'Cannot find thread: there is no conversation of this name',
    })
  })

  test('leaves the chat when the link ends, and returns with a new link (C-30)', async () => {
    await gateway.askByPost('unlink @ann@web.agents.test')
    expect((await gateway.threads()).filter(({ via }) => via === 'activitypub')).toEqual([])
    expect((await gateway.history(threadId)).status).toBe(404)
    const body = {
      threadId,
      runId: uniqueName('run'),
      messages: [{ id: uniqueName('msg'), role: 'user', content: 'still here?' }],
    }
    const refusal = await gateway.postRun(body)
    expect([refusal.status, await refusal.json()]).toMatchObject([404, { code: 'no_recipient' }])
    await gateway.linkAccount('alice@mastodon.test')
    expect((await gateway.read(threadId)).slice(0, 2).map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('has pages, and nobody can delete it from the chat', async () => {
    const page = await gateway.requestAs(`/api/v1/agent/history?threadId=${threadId}&limit=2`)
    const { messages, next_before_seq } = (await page.json()) as {
      messages: readonly HistoryMessage[]
      next_before_seq: number
    }
    expect(messages.map(({ seq }) => seq)).toEqual([next_before_seq, next_before_seq + 1])
    const olderPage = await gateway.requestAs(
      `/api/v1/agent/history?threadId=${threadId}&before_seq=${next_before_seq}&limit=1`,
    )
    expect(await olderPage.json()).toMatchObject({ messages: [{ seq: next_before_seq - 1 }] })
    const deleted = await gateway.requestAs(`/api/v1/agent/threads/${threadId}`, { method: 'DELETE' })
    expect([deleted.status, await deleted.json()]).toMatchObject([403, { code: 'forbidden' }])
    expect(await gateway.read(threadId)).not.toEqual([])
  })

  test('shows a later owner of the account only its fediverse messages, not an earlier owner’s chat (C-30)', async () => {
    await gateway.askByPost('unlink @ann@web.agents.test')
    await gateway.linkAccount('alice@mastodon.test', { as: 'bob' })
    const contents = (await gateway.read(threadId, 'bob')).map(({ content }) => content).join('\n')
    expect(contents).toContain('my order is late')
    expect(contents).not.toContain('is it on its way?')
    await gateway.askByPost('unlink @bob@web.agents.test')
  })
})

test('the list of threads has each thread once, newest first, in pages', async () => {
  for (const text of ['one', 'two', 'three']) await gateway.chat(text, { agent: 'plain' })
  const list = async (query: string) => {
    const response = await gateway.requestAs(`/api/v1/agents/plain/threads?${query}`)
    return (await response.json()) as { threads: readonly Thread[]; next_before?: number }
  }
  const first = await list('limit=2')
  expect(first.threads.map(({ beginning }) => beginning)).toEqual(['three', 'two'])
  const olderThreads = await list(`limit=2&before=${first.next_before}`)
  expect([olderThreads.threads.map(({ beginning }) => beginning), olderThreads.next_before]).toEqual([
    ['one'],
    undefined,
  ])
  const invalidPage = await gateway.requestAs('/api/v1/agents/plain/threads?before=-1')
  expect([invalidPage.status, await invalidPage.json()]).toMatchObject([400, { code: 'malformed' }])
  expect((await fetch(`${gateway.gateway.url()}/api/v1/agent/threads`)).status).toBe(401)
})

describe('a public thread', () => {
  const actor = 'https://mastodon.test/users/bob'
  const bob = 'bob@mastodon.test'
  let threadId = ''

  test('belongs to the person who began it, without messages of others or answers to them (C-30)', async () => {
    await gateway.linkAccount(bob, { as: 'bob' })
    const first = await gateway.askByPost('who knows the way?', { from: bob, visibility: 'public' })
    await gateway.askByPost('I do, says a stranger', {
      from: 'alice@snac.test',
      visibility: 'public',
      inReplyTo: first.thread,
    })
    const thread = (await gateway.threads('bob')).find(({ shared }) => shared)
    threadId = thread?.threadId ?? ''
    expect(thread).toMatchObject({ via: 'activitypub', beginning: 'who knows the way?' })
    const messages = await gateway.read(threadId, 'bob')
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(JSON.stringify(messages)).not.toContain('stranger')
    // A conversation is not shared with a person who only took part.
    await gateway.linkAccount('alice@snac.test')
    expect((await gateway.threads()).filter(({ shared }) => shared)).toEqual([])
  })

  test('sends the answer to a chat message only to its author (C-30)', async () => {
    const { text } = await gateway.chat('my secret is durian', { threadId, as: 'bob' })
    expect(text).not.toBe('')
    const note = await eventually(async () => notesTo(actor, 'who knows the way?').at(-1))
    expect(note).toMatchObject({ to: [actor], cc: [] })
    expect(note.tag.map(({ href }) => href)).toEqual([actor])
    const secondAnswer = await gateway.chat('what did I say?', { threadId, as: 'bob' })
    expect(readConfided(secondAnswer.text).past.join()).toContain('my secret is durian')
    const otherQuestion = await gateway.askByPost('and what else?', {
      from: 'alice@snac.test',
      visibility: 'public',
      inReplyTo: note.inReplyTo,
    })
    expect(readConfided(otherQuestion.text).past.join()).toContain('[said in a chat, not before everybody]')
    expect(otherQuestion.text).not.toContain('durian')
    const published = gateway.gateway.simulation.fediverse.received.filter(({ activity }) =>
      JSON.stringify([activity.to, activity.cc]).includes('#Public'),
    )
    expect(JSON.stringify(published)).not.toContain('durian')
  })
})

describe('a thread that began as mail', () => {
  const from = 'ann@alice.test'
  const answersTo = (id: string) =>
    gateway.gateway.simulation.mail.received.filter(({ references }) => references?.includes(id))
  const threadOf = async (text: string) =>
    (await gateway.threads()).find(({ beginning }) => beginning.includes(text)) ?? { threadId: '', via: '' }

  test('continues in the chat, and sends the answer as a mail in the same thread (C-30)', async () => {
    await gateway.linkMailbox(from)
    const first = await gateway.askByMail('the invoice is wrong', { from })
    const { text } = await gateway.chat('by 7 euros', await threadOf('the invoice is wrong'))
    expect(readConfided(text).past).toContain('email: the invoice is wrong')
    const [, mail] = await eventually(async () => answersTo(first.id).length === 2 && answersTo(first.id))
    expect(mail?.envelope.to).toEqual([from])
    expect(mail?.headers.get('subject')).toEqual(['Re: hello'])
    expect(mail?.text).not.toContain('by 7 euros')
    const laterMail = await gateway.askByMail('and by mail again', { from, inReplyTo: mail?.messageId })
    expect(readConfided(laterMail.text).past.join()).toContain('by 7 euros')
  })

  test('sends an answer from the chat only to the person who began it (C-30)', async () => {
    const receipt = await gateway.gateway.simulation.mail.deliver({
      to: 'desk@agents.test',
      cc: ['friend@alice.test'],
      from,
      subject: 'together',
      text: 'we both want to know',
    })
    const { messageId } = receipt.mail
    await eventually(async () => answersTo(messageId).length === 2)
    const thread = await threadOf('we both want to know')
    expect(thread).toMatchObject({ via: 'email', shared: true })
    await gateway.chat('only between us', thread)
    const third = await eventually(async () => answersTo(messageId)[2])
    expect([third.envelope.to, third.headers.get('cc')]).toEqual([[from], undefined])
    expect(answersTo(messageId)).toHaveLength(3)
  })
})

describe('an A2A conversation', () => {
  test('appears in the chat for a token of the same issuer, and continues only with its own caller (C-30)', async () => {
    const { a2a, send } = gateway.gateway.simulation
    await send({ via: 'a2a', to: 'desk', text: 'called by a program', from: 'dora' })
    const token = await a2a.token({ sub: 'dora', audience: 'chat' })
    const requestChat = (path: string, init: RequestInit = {}) =>
      fetch(`${gateway.gateway.url()}/api/v1/agent${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })
    const { threads } = (await (await requestChat('/threads')).json()) as {
      threads: readonly { threadId: string; via: string }[]
    }
    expect(threads).toMatchObject([{ via: 'a2a', beginning: 'called by a program' }])
    const threadId = threads[0]?.threadId ?? ''
    const { messages } = (await (await requestChat(`/history?threadId=${threadId}`)).json()) as {
      messages: readonly object[]
    }
    expect(messages).toMatchObject([
      { seq: 1, role: 'user', metadata: { via: 'a2a' } },
      { seq: 2, role: 'assistant', metadata: { via: 'a2a' } },
    ])
    const body = {
      threadId,
      runId: uniqueName('run'),
      messages: [{ id: uniqueName('msg'), role: 'user', content: 'go on' }],
    }
    const refusal = await requestChat('/runs', { method: 'POST', body: JSON.stringify(body) })
    expect(await refusal.json()).toMatchObject({
      code: 'unsupported',
      detail: 'Cannot run: this conversation goes on only where it began (a2a)',
    })
    expect((await gateway.history(threadId)).status).toBe(404)
  })
})
