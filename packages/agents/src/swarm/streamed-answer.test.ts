import type { FilePart, NormalizedMessage, PartialResponse } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { collectAnswer } from '@postern/pipeline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import { textOfAnswer } from '../../test/model-agent.ts'
import type { Complete, ModelReply } from '../../test/model-server.ts'
import { openModelServer, replyWith, respondWithToolCall, streamOf } from '../../test/model-server.ts'

const long = 'All the words of an answer that is long enough to be heard while it is made. '.repeat(3)
const wordChunks = (text: string) => (text.match(/\S+\s*/g) ?? []).map(content => ({ content }))

type Script = Complete | readonly ModelReply[]

/** Opens a swarm of `one` and `two`, whose models answer from a script. */
async function openSwarm(script: Script, config: object = {}, one: object = {}) {
  const complete =
    typeof script === 'function' ? script : (_: unknown, index: number) => script[index] ?? { status: 418 }
  const server = await openModelServer(complete)
  onTestFinished(server.close)
  const { agent, close } = await openTestAgent({
    use: 'swarm',
    default_agent: 'one',
    model: { base_url: server.baseUrl, model: 'test-model', thoughts: 'none' },
    members: { one: { prompt: 'I am one.', navigates_to: ['two'], ...one }, two: { prompt: 'I am two.' } },
    ...config,
  })
  onTestFinished(close)
  const begin = (message: string | NormalizedMessage = 'hello', context: Partial<AgentContext> = {}) =>
    agent.handle(typeof message === 'string' ? testMessage(message) : message, testContext(context))
  return {
    server,
    begin,
    async ask(...args: Parameters<typeof begin>) {
      const chunks: PartialResponse[] = []
      const answer = await collectAnswer(await begin(...args), chunk => chunks.push(chunk))
      return { answer, chunks, pieces: chunks.map(textOfAnswer).filter(Boolean) }
    },
    prompts: () => server.requests.map(({ body }) => body.messages),
  }
}

describe('the text of a swarm', () => {
  test('arrives while the model writes, under the speaker’s name', async () => {
    const { begin, server } = await openSwarm([
      { pieces: streamOf(wordChunks(long)).pieces?.slice(0, -2) ?? [], hangs: true },
    ])
    const leaving = new AbortController()
    const receivedTexts: unknown[] = []
    const reading = (async () => {
      for await (const chunk of (await begin('hello', { signal: leaving.signal })) as AsyncIterable<unknown>) {
        receivedTexts.push(chunk)
        if (receivedTexts.filter(piece => typeof piece === 'string').join('') === long.trimEnd())
          leaving.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
    await server.clientLeft
    const pieces = receivedTexts.filter(piece => typeof piece === 'string')
    expect(pieces.length).toBeGreaterThan(5)
    expect(receivedTexts[receivedTexts.indexOf(pieces[0]) - 1]).toEqual({ speaker: 'one' })
  })

  test('is one answer, however its chunks arrived', async () => {
    const { ask } = await openSwarm([streamOf(wordChunks(long))])
    const { answer, pieces } = await ask()
    expect(answer?.parts).toEqual([{ kind: 'text', mime: 'text/markdown', content: long }])
    expect(answer?.speaker).toBe('one')
    expect(pieces.length).toBeGreaterThan(5)
  })

  test('arrives at once if it is short', async () => {
    const { ask } = await openSwarm([streamOf(wordChunks('Hello to you, too.'))])
    expect((await ask()).pieces).toEqual(['Hello to you, too.'])
  })

  test('stays at a hand-over, and the next speaker’s chunks follow under their own name (W-21)', async () => {
    const called = { index: 0, id: 'c', type: 'function', function: { name: 'navigate_to_two', arguments: '{}' } }
    const { ask } = await openSwarm([
      streamOf([...wordChunks(long), { tool_calls: [called] }], 'tool_calls'),
      replyWith(long),
    ])
    const { answer, chunks } = await ask()
    expect(textOfAnswer(answer)).toBe(`${long}\n\n${long}`)
    const speakers = chunks.flatMap(({ speaker }) => speaker ?? [])
    expect([speakers[0], speakers.at(-1)]).toEqual(['one', 'two'])
    const firstOfTwo = chunks.findIndex(({ speaker }) => speaker === 'two')
    expect(chunks.slice(0, firstOfTwo).map(textOfAnswer).join('')).toBe(long)
  })

  test('never arrives if it needs a rescue, nor does the rescued text (W-25)', async () => {
    const { ask } = await openSwarm([
      streamOf(wordChunks('Let me see. <tool_call>{"name": "x"}')),
      replyWith('Here you are.'),
    ])
    expect((await ask()).pieces).toEqual(['Here you are.'])
  })

  test('arrives up to the mark of a late call, and new text follows after an empty line (W-25)', async () => {
    const { ask } = await openSwarm([
      streamOf(wordChunks(`${long}<tool_call>{"name": "x"}`)),
      replyWith('Here you are.'),
    ])
    expect(textOfAnswer((await ask()).answer)).toBe(`${long}\n\nHere you are.`)
  })

  test('may be code', async () => {
    const code = '```js\nconst f = ({ a }) => ({ b: a })\n```'
    expect(textOfAnswer((await (await openSwarm([replyWith(code)])).ask()).answer)).toBe(code)
  })

  test('with braces needs a rescue if the swarm searches for braces (W-25)', async () => {
    const { ask } = await openSwarm([replyWith('Here: {"a": 1}'), replyWith('Here you are.')], {
      rescue_checks: ['braces'],
    })
    expect(textOfAnswer((await ask()).answer)).toBe('Here you are.')
  })

  test('ends with a mark if it breaks off', async () => {
    const { ask } = await openSwarm([streamOf(wordChunks(long), 'length')])
    expect(textOfAnswer((await ask()).answer)).toBe(`${long} […]`)
  })

  test('arrives before the refusal of an agent that breaks off', async () => {
    const { ask } = await openSwarm([streamOf([...wordChunks(long), { refusal: 'I stop here.' }])])
    const { answer } = await ask()
    expect(answer?.status).toBe('rejected')
    expect(answer?.parts?.[0]).toMatchObject({ kind: 'text', content: long })
    expect(answer?.parts?.[1]).toMatchObject({ policy: { kind: 'forbidden', message: 'I stop here.' } })
  })

  test('of a refusal that needs a rescue never arrives, and the new text is no refusal (W-25)', async () => {
    const { ask } = await openSwarm([streamOf([{ refusal: 'No: <tool_call>{}' }]), replyWith('Here you are.')])
    const { answer } = await ask()
    expect([answer?.status, textOfAnswer(answer)]).toEqual([undefined, 'Here you are.'])
  })

  test('arrives as a whole if a policy checks it', async () => {
    const policies = { p: { refuse_output: ['sesame'], message: 'No.' } }
    const { ask } = await openSwarm([streamOf(wordChunks(long)), streamOf(wordChunks(`${long} sesame`))], { policies })
    expect((await ask()).pieces).toEqual([long])
    expect((await ask()).pieces).toEqual(['No.'])
  })
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('the pictures of a message', () => {
  const picture: FilePart = {
    kind: 'file',
    mime: 'image/png',
    name: 'cup.png',
    bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64) },
  }
  const pictureMessage = testMessage('', {
    parts: [{ kind: 'text', mime: 'text/plain', content: 'What is it?' }, picture],
  })
  const piece = { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } }

  function withPictures() {
    const read: string[] = []
    const attachment: AgentContext['attachment'] = async part => {
      read.push(String(part.name))
      return { bytes: new Uint8Array(png) }
    }
    return { read, attachment }
  }

  test('reach a member whose model accepts them, read once, with each of its questions', async () => {
    const { read, attachment } = withPictures()
    const { ask, prompts, server } = await openSwarm(({ body }) =>
      String(body.messages[0]?.content).startsWith('I am one.')
        ? respondWithToolCall('navigate_to_two', {})
        : replyWith('A cup.'),
    )
    const seeing = await openSwarm([], { model: { base_url: server.baseUrl, model: 'test-model', images: true } })
    await ask(pictureMessage, { attachment })
    expect(JSON.stringify(prompts())).not.toContain('image_url')
    expect(read).toEqual([])
    server.requests.slice()
    await seeing.ask(pictureMessage, { attachment })
    expect(read).toEqual(['cup.png'])
    for (const messages of server.requests.slice(2).map(({ body }) => body.messages)) {
      const last = messages.findLast(({ role }) => role === 'user')?.content as readonly { readonly text?: string }[]
      expect(last.at(-1)).toEqual(piece)
      expect(last[0]?.text).toMatch(/"name":"cup\.png"[\s\S]*What is it\?$/)
    }
  })

  test('reach the member again after a rescue, with their sender', async () => {
    const { read, attachment } = withPictures()
    const server = await openModelServer((_, index) => (index === 0 ? replyWith('<tool_call>') : replyWith('A cup.')))
    onTestFinished(server.close)
    const { ask } = await openSwarm([], {}, { model: { base_url: server.baseUrl, model: 'test-model', images: true } })
    expect(textOfAnswer((await ask(pictureMessage, { attachment })).answer)).toBe('A cup.')
    expect(read).toEqual(['cup.png'])
    const [, again] = server.requests
    const last = again?.body.messages.at(-1)?.content as readonly { readonly text?: string }[]
    expect(last[0]?.text).toMatch(/^Something went wrong[\s\S]*"from":"@alice@peer\.test"[\s\S]*What is it\?$/)
    expect(last.at(-1)).toEqual(piece)
  })
})

describe('the input of a member’s model', () => {
  test('has the sender’s text once, after any hand-over', async () => {
    const { ask, prompts } = await openSwarm([respondWithToolCall('navigate_to_two', {}), replyWith('Two here.')])
    await ask('Where is my order?')
    const [, second = []] = prompts()
    expect(second.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(JSON.stringify(second).split('Where is my order?')).toHaveLength(2)
  })

  test('names the sender also after a rescue', async () => {
    const { ask, prompts } = await openSwarm([replyWith(''), replyWith('Hello.')])
    await ask('Where is my order?')
    const [, second = []] = prompts()
    expect(second.at(-1)?.content).toMatch(
      /^Something went wrong\. Start again.*\n\n<(postern-data-[0-9a-f]{24})>\n.*"from":"@alice@peer\.test".*\n<\/\1>\nWhere is my order\?$/,
    )
  })
})
