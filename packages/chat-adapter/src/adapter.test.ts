import { createHash, createHmac, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { createMemoryState } from '@chat-adapter/state-memory'
import type { AgentAction, NormalizedMessage, Part } from '@postern/message'
import type { Attachment, ConcurrencyStrategy, Message, Thread } from 'chat'
import { Chat } from 'chat'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createPosternAdapter } from './adapter.ts'
import { performForBot } from './operator.ts'

// These tests call a bot of the real Chat SDK as the gateway does; a server stands for the gateway that it calls.

const secret = 'shared'
const file = Buffer.from('what the gateway keeps')
const digest = createHash('sha256').update(file).digest('hex')
let performed: AgentAction[] = []
let reads: string[] = []

const gateway = createServer(async (request, response) => {
  if (request.method === 'POST') {
    performed.push(...((await json(request)) as { acts: AgentAction[] }).acts)
    response.end('{"done":[{"id":"1"}]}')
    return
  }
  reads.push(request.url ?? '')
  if (request.url === '/attachments/moved') response.writeHead(302, { location: '/attachments/file' }).end()
  else response.end(request.url === '/attachments/endless' ? Buffer.alloc(65 * 1024 * 1024) : file)
})
await new Promise<void>(resolve => gateway.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`

beforeEach(() => {
  performed = []
  reads = []
})
afterAll(() => {
  gateway.closeAllConnections()
  gateway.close()
})

const ann = { address: '@ann@one.test', verified: true, via: 'activitypub' } as const
const bob = { address: '@bob@two.test', verified: true, via: 'activitypub' } as const
const stranger = { address: '@bob@two.test', verified: false, via: 'activitypub' } as const

interface BotOptions {
  readonly concurrency?: ConcurrencyStrategy
  handle(thread: Thread, message: Message): Promise<void>
}

function openBot({ concurrency = 'drop', handle }: BotOptions) {
  const adapter = createPosternAdapter({ secret, operator: { url: origin, token: 'token' } })
  const chat = new Chat({
    userName: 'bot',
    adapters: { postern: adapter },
    state: createMemoryState(),
    logger: 'silent',
    concurrency,
  })
  chat.onNewMention(handle)
  const say = async (from: typeof ann | typeof bob | typeof stranger, content: string, parts: readonly Part[] = []) => {
    const message = {
      id: randomUUID(),
      thread_id: 'shared-thread',
      recipient: '@bot@agents.test',
      sender: { address: from.address, verified: from.verified, auth_method: 'none', identities: [] },
      received_via: from.via,
      received_at: '2026-01-01T00:00:00.000Z',
      parts: [{ kind: 'text', mime: 'text/plain', content }, ...parts],
    } as unknown as NormalizedMessage
    const response = await chat.webhooks.postern?.(sign(JSON.stringify(message)))
    const text = await response?.text()
    return text ? (JSON.parse(text) as { parts: Part[] }).parts.map(part => part.kind === 'text' && part.content) : []
  }
  return { chat, say }
}

function sign(body: string): Request {
  const [id, at] = [randomUUID(), String(Math.trunc(Date.now() / 1000))]
  const signature = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
  return new Request('http://bot.test/', { method: 'POST', headers, body })
}

const recipients = () => performed.map(action => action.act === 'post' && action.mentions)

describe('the adapter sends a post outside of its turn', () => {
  test('to the person whose message it answers, even if others wrote since', async () => {
    const threads: Thread[] = []
    const { say } = openBot({ handle: async thread => void threads.push(thread) })
    await say(ann, 'how is my order?')
    await say(stranger, 'hello')
    await threads[0]?.post('private, for Ann')
    expect(recipients()).toEqual([['@ann@one.test']])
    expect(performed).toMatchObject([{ visibility: 'direct' }])
  })

  test('only over https or to this machine, because it sends the operator token', async () => {
    const operator = { url: 'http://gateway.example', token: 'token' }
    await expect(performForBot(operator, 'bot', { act: 'like' } as AgentAction)).rejects.toThrow(
      'Cannot send the operator token to http://gateway.example in clear text: use https, or a tunnel to this machine',
    )
    expect(performed).toEqual([])
  })

  test('to no unproven sender', async () => {
    const threads: Thread[] = []
    const { say } = openBot({ handle: async thread => void threads.push(thread) })
    await say(stranger, 'hello')
    await expect(threads[0]?.post('a result')).rejects.toThrow('nothing proves that they wrote')
    expect(performed).toEqual([])
  })

  test('to the person of the handler that started it', async () => {
    const late: Promise<unknown>[] = []
    const { chat, say } = openBot({
      async handle(thread, { text }) {
        if (text !== 'later') return
        const post = async () => {
          await new Promise(resolve => setTimeout(resolve, 20))
          await chat.thread(thread.id).post('private, for Ann')
        }
        late.push(post())
      },
    })
    await say(ann, 'later')
    await say(bob, 'hello')
    await Promise.all(late)
    expect(recipients()).toEqual([['@ann@one.test']])
  })

  test('without a handler to the only person of a thread, and to nobody if there are several', async () => {
    const threads: Thread[] = []
    const { chat, say } = openBot({ handle: async thread => void threads.push(thread) })
    await say(ann, 'hello')
    await say(ann, 'hello again')
    const id = threads[0]?.id ?? ''
    await chat.thread(id).post('news')
    expect(recipients()).toEqual([['@ann@one.test']])
    await say(stranger, 'hello')
    await say(ann, 'hello')
    await expect(chat.thread(id).post('news')).rejects.toThrow('several people write there')
    expect(performed).toHaveLength(1)
  })
})

test.each(['drop', 'queue', 'concurrent'] as const)(
  'two simultaneous messages of one thread each get their own answer (%s)',
  async concurrency => {
    const { say } = openBot({
      concurrency,
      async handle(thread, message) {
        await new Promise(resolve => setTimeout(resolve, message.text === 'slow' ? 50 : 0))
        await thread.post(`to ${message.author.userId}`)
      },
    })
    const answers = await Promise.all([say(ann, 'slow'), say(bob, 'fast')])
    expect(answers).toEqual([['to @ann@one.test'], ['to @bob@two.test']])
  },
)

describe('the adapter fetches a file', () => {
  const readFile = async (bytes_ref: object): Promise<Attachment | undefined> => {
    const readAttachments: Attachment[] = []
    const { say } = openBot({ handle: async (_, { attachments }) => void readAttachments.push(...attachments) })
    await say(ann, 'look', [{ kind: 'file', mime: 'text/plain', bytes_ref } as unknown as Part])
    return readAttachments[0]
  }
  const served = (path: string) => ({
    kind: 'content_addressed',
    algo: 'sha256',
    digest,
    url: `https://agents.test/attachments/${path}`,
  })

  test('from the gateway', async () => {
    const attachment = await readFile(served('file'))
    expect(String(await attachment?.fetchData?.())).toBe(String(file))
  })

  test('from the gateway in dev mode, at its listening address', async () => {
    const attachment = await readFile({ ...served('file'), url: `${origin}/attachments/file` })
    expect(String(await attachment?.fetchData?.())).toBe(String(file))
  })

  test('from no URL of a peer', async () => {
    const url = 'https://agents.test/attachments/file'
    expect(await readFile({ kind: 'url', url, foreign: true })).toEqual({ type: 'file', mimeType: 'text/plain', url })
    for (const foreignUrl of ['http://127.0.0.1:9/attachments/file', 'https://agents.test/operator/api']) {
      expect(await readFile({ ...served('file'), url: foreignUrl })).not.toHaveProperty('fetchData')
    }
    expect(reads).toEqual([])
  })

  test('without redirects, within a limit, and only with its digest', async () => {
    await expect((await readFile(served('moved')))?.fetchData?.()).rejects.toThrow()
    expect(reads).toEqual(['/attachments/moved'])
    await expect((await readFile(served('endless')))?.fetchData?.()).rejects.toThrow('more than')
    await expect((await readFile({ ...served('file'), digest: '0'.repeat(64) }))?.fetchData?.()).rejects.toThrow(
      'its digest',
    )
  })
})
