import { resolve } from 'node:path'
import type { PartialResponse } from '@postern/message'
import { noLog, Rejection, Unavailable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { collectAnswer } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { aliceSender, openAgentGateway, openTestAgent, testContext, testMessage } from '../../../test/gateway.ts'

const baseDir = resolve(import.meta.dirname, '../../../test/modules')
let subject: Awaited<ReturnType<typeof openTestAgent>>

beforeAll(async () => {
  subject = await openTestAgent({ use: './isolated/worker.ts', isolate: true }, { baseDir })
})
afterAll(() => subject.close())

async function ask(text: string, context: Partial<AgentContext> = {}) {
  const chunks: PartialResponse[] = []
  const message = testMessage(text, { sender: aliceSender })
  const answer = await collectAnswer(await subject.agent.handle(message, testContext(context)), chunk => {
    context.signal?.throwIfAborted()
    chunks.push(chunk)
  })
  return { answer, chunks }
}

const textOf = (answer: PartialResponse | undefined) =>
  answer?.parts?.map(part => (part.kind === 'text' ? part.content : '')).join('')

describe('an isolated agent', () => {
  test('answers, streams chunks, or stays silent', async () => {
    expect(textOf((await ask('hello')).answer)).toBe('heard hello')
    const { answer, chunks } = await ask('pieces')
    expect(textOf(answer)).toBe('one, two, three')
    expect(chunks).toHaveLength(3)
    expect((await ask('silent')).answer).toBeUndefined()
  })

  test('has the whole context, and its errors', async () => {
    const info = vi.fn()
    const set = vi.fn()
    const { answer } = await ask('context', {
      state: { get: async () => ({ kept: 1 }), set },
      attachment: async () => ({ bytes: new Uint8Array([1, 2]) }),
      call: () => Promise.reject(new Unavailable('nobody is there')),
      note: () => {
        throw new Rejection('malformed', 'no such note')
      },
      post: () => 'post-7',
      flags: ['hidden_text'],
      log: { ...testContext().log, info },
    })
    expect(JSON.parse(textOf(answer) ?? '')).toEqual({
      before: { kept: 1 },
      bytes: [1, 2],
      failed: 'Unavailable: nobody is there',
      refused: 'Rejection malformed',
      posted: 'post-7',
      policy: 'rejected',
      has: true,
      turns: 0,
      flags: ['hidden_text'],
      correlationId: 'c0ffee',
    })
    expect(set).toHaveBeenCalledExactlyOnceWith({ seen: true })
    expect(info).toHaveBeenCalledExactlyOnceWith({ a: 1 }, 'logged')
  })

  test('forgets people in its thread, or reports why not, and stops at its deadline', async () => {
    const info = vi.fn()
    const forget = async (person: string, signal = new AbortController().signal) =>
      subject.agent.forget?.({ person, addresses: [], threads: ['t1'] }, { id: 'f1', signal, log: { ...noLog, info } })
    await forget('p1')
    expect(info).toHaveBeenCalledExactlyOnceWith({ id: 'f1', person: 'p1', threads: ['t1'] }, 'forgotten')
    await expect(forget('locked')).rejects.toThrow('the database is locked')
    await expect(forget('endless', AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(textOf((await ask('still there?')).answer)).toBe('heard still there?')
  })

  test('cannot change a state by a function, which would run after its turn', async () => {
    const person = { id: 'p1', addresses: [], state: { get: async () => 1, set: vi.fn() } }
    await expect(ask('computes', { person })).rejects.toThrow('Cannot set the state by a function')
    expect(person.state.set).not.toHaveBeenCalled()
  })

  test.each(['loop', 'loopInStream', 'endless', 'waits'])(
    'stops with its turn, whatever its code does: %s',
    async text => {
      const late = new AbortController()
      const reason = new DOMException('the agent took too long', 'TimeoutError')
      // A loop that blocks the gateway would also block this timer.
      setTimeout(() => late.abort(reason), 200)
      await expect(ask(text, { signal: late.signal })).rejects.toThrow('the agent took too long')
      expect(textOf((await ask('still there?')).answer)).toBe('heard still there?')
    },
  )

  test.each([
    ['throws', 'no such order'],
    ['unreadable', 'cannot be read'],
    ['unsendable', 'could not be cloned'],
    ['exit', 'thread of the agent has ended'],
    ['memory', 'memory limit'],
  ])(
    'fails only its own turn: %s',
    async (text, problem) => {
      const parallelAnswer = ask('hello')
      await expect(ask(text)).rejects.toThrow(problem)
      expect(textOf((await parallelAnswer).answer)).toBe('heard hello')
      expect(textOf((await ask('again')).answer)).toBe('heard again')
    },
    60_000,
  )

  test('does nothing in the next turn', async () => {
    await ask('lingers')
    const [post, call] = [vi.fn(), vi.fn(async () => ({}) as never)]
    const late = new AbortController()
    setTimeout(() => late.abort(new Error('enough')), 200)
    await expect(ask('waits', { post, call, signal: late.signal })).rejects.toThrow('enough')
    expect([post.mock.calls, call.mock.calls]).toEqual([[], []])
  })

  test('keeps its thread after a stream', async () => {
    const ids = new Set<string | undefined>()
    for (let count = 0; count < 3; count += 1) {
      await ask('pieces')
      ids.add(textOf((await ask('thread')).answer))
      await new Promise(resolve => setTimeout(resolve, 600))
    }
    expect(ids.size).toBe(1)
  })

  test('runs turns in parallel', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(text => ask(text)))
    expect(answers.map(({ answer }) => textOf(answer))).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'f'].map(text => `heard ${text}`),
    )
  })
})

test.each([
  ['nobody.ts', /agents\.desk\.use: ".*nobody\.ts" cannot be loaded: there is no file/],
  ['throws.js', /agents\.desk\.use: ".*throws\.js" cannot be loaded: the database is not there/],
  ['no-handle.mjs', /exports no function "handle"/],
])('an isolated module that cannot run stops the gateway like any other: %s', async (file, problem) => {
  await expect(openAgentGateway({ desk: { use: `./${file}`, isolate: true } }, { baseDir })).rejects.toThrow(problem)
})
