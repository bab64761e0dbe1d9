import type { BaseEvent, Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import type { Event } from '@ag-ui/core'
import { EventSchema } from '@ag-ui/core/schemas'
import type { NormalizedResponse, Part } from '@postern/message'
import { collectAnswer, completeResponse } from '@postern/pipeline'
import { drawCount } from '@postern/testing/scale'
import { groupParts, nameTextMessage } from '@postern/transcript'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { writeBlocks } from '../render.ts'
import type { RunWriter } from './run-events.ts'
import { createRunWriter } from './run-events.ts'

function writeRun(act: (writer: RunWriter) => void): readonly Event[] {
  const events: Event[] = []
  const run = { threadId: 't', runId: 'r', agent: 'chat', now: () => 1, clientTools: new Set(['theirs']) }
  const writer = createRunWriter(run, event => void events.push(event))
  writer.start()
  act(writer)
  return events
}

/** Returns the messages that the real client reads from a stream. The client refuses a stream that breaks a rule. */
async function readAsClient(events: readonly Event[]): Promise<readonly Message[]> {
  const body = events.map(event => `data: ${JSON.stringify(EventSchema.parse(event))}\n\n`).join('')
  const headers = { 'content-type': 'text/event-stream' }
  const client = new HttpAgent({
    url: 'http://x.test/',
    threadId: 't',
    fetch: async () => new Response(body, { headers }),
  })
  const seen: BaseEvent[] = []
  await client.runAgent({ runId: 'r' }, { onEvent: ({ event }) => void seen.push(event) })
  expect(seen).toHaveLength(events.length)
  return client.messages
}

const text = (content: string, mime: 'text/plain' | 'text/markdown' | 'text/html' = 'text/markdown'): Part => ({
  kind: 'text',
  mime,
  content,
})

function answer(parts: readonly Part[], id = 'answer'): NormalizedResponse {
  const content = { thread_id: 't', id: 'm', recipient: '@chat@x.test' }
  return completeResponse({ parts: [...parts] }, { content } as never, { id, createdAt: '2026-01-01T00:00:00.000Z' })
}

const wordsOf = (messages: readonly Message[]) =>
  messages.filter(({ role, content }) => role === 'assistant' && content).map(({ content }) => content)

describe('createRunWriter()', () => {
  it('separates the parts of an unstreamed answer', async () => {
    const events = writeRun(writer => {
      writer.complete(answer([text('here'), text('there')]))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['here\n\nthere'])
  })

  it('separates the texts of one chunk, and those of another section', async () => {
    const travel = { ...text('Bus at 9.'), section: { id: 'b' } } as Part
    const parts = [text('Tea is ready.'), text('Milk is cold.'), travel]
    const events = writeRun(writer => {
      writer.writePiece([text('Tea is ')], 'answer')
      writer.writePiece([text('ready.'), text('Milk is cold.')], 'answer')
      writer.writePiece([travel], 'answer')
      writer.complete(answer(parts))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['Tea is ready.\n\nMilk is cold.\n\nBus at 9.'])
  })

  it('completes an answer with the parts that it did not stream, also with links and files', async () => {
    const link: Part = { kind: 'link', url: 'https://x.test/a', title: 'A' }
    const events = writeRun(writer => {
      writer.writePiece([text('see ')], 'answer')
      writer.writePiece([text('this')], 'answer')
      writer.complete(answer([text('see this'), link]))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['see this\n\n[A](https://x.test/a)'])
  })

  it.each([
    [{ url: 'javascript:alert(1)', title: 'A' }, 'A'],
    [{ url: 'data:text/html,x' }, 'data:text/html,x'],
    [
      { url: 'https://x.test/a)[b](javascript:alert(1)' },
      '[https://x.test/a)\\[b\\](javascript:alert(1)](https://x.test/a%29[b]%28javascript:alert%281%29)',
    ],
    [
      { url: 'https://x.test/', title: 'a](javascript:alert(1))[b' },
      '[a\\](javascript:alert(1))\\[b](https://x.test/)',
    ],
  ])('keeps a link’s target, or drops the link: %j', (link, told) => {
    const events = writeRun(writer => writer.complete(answer([{ kind: 'link', ...link }])))
    expect(events.flatMap(event => (event.type === 'TEXT_MESSAGE_CONTENT' ? [event.delta] : []))).toEqual([told])
  })

  it('warns about text that the client cannot take back, without another message beside it', async () => {
    const wholes: boolean[] = []
    const events = writeRun(writer => {
      writer.writePiece([text('half of ')], 'answer')
      wholes.push(writer.complete(answer([text('another one')])))
      writer.finish({ kind: 'success' })
    })
    expect(wholes).toEqual([false])
    const messages = await readAsClient(events)
    expect(messages.map(({ id, content }) => [id, content])).toEqual([['answer', 'half of ']])
  })

  it('splits no text at the calls after an answer', async () => {
    const trace = { kind: 'tool_call', id: 'c', name: 'hand_over', args: {}, result: 'done' } as const
    const run = {
      threadId: 't',
      runId: 'r',
      agent: 'chat',
      now: () => 1,
      clientTools: new Set<string>(),
      showsTrace: true,
    }
    const events: Event[] = []
    const writer = createRunWriter(run, event => void events.push(event))
    writer.start()
    writer.writePiece([text('One '), text('two')], 'answer')
    writer.writeDetails({ trace: [trace] }, 'answer')
    writer.writePiece([text(' three')], 'answer')
    expect(writer.complete({ ...answer([text('One '), text('two three')]), trace: [trace] })).toBe(true)
    writer.finish({ kind: 'success' })
    const messages = await readAsClient(events)
    expect(messages.filter(({ role }) => role === 'assistant').map(({ id, content }) => [id, content])).toEqual([
      ['answer', 'One \n\ntwo three'],
      ['answer.c', undefined],
    ])
  })

  it('writes HTML as Markdown, and chunks of it once the answer is complete', async () => {
    const html = '<h2>Hours</h2><p>See <a href="https://x.test/map">the map</a>.</p>'
    const events = writeRun(writer => {
      for (const piece of [text('Here: '), text(html.slice(0, 30), 'text/html'), text(html.slice(30), 'text/html')])
        writer.writePiece([piece], 'answer')
      writer.complete(answer([text('Here: '), text(html, 'text/html')]))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['Here: \n\n## Hours\n\nSee [the map](https://x.test/map).'])
  })

  it.each([[[]], [['<h2>Ho', 'urs</h2>']]])('writes an HTML answer as Markdown, streamed as %j', async pieces => {
    const events = writeRun(writer => {
      for (const piece of pieces) writer.writePiece([text(piece, 'text/html')], 'answer')
      writer.complete(answer([text('<h2>Hours</h2>', 'text/html'), text('Bye')]))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['## Hours\n\nBye'])
  })

  it('writes text that tool calls split only once', async () => {
    const call: Part = { kind: 'tool_call', id: 'c', name: 'search', args: {}, result: 'found' }
    const parts = [text('before'), call, text('after')]
    const events = writeRun(writer => {
      for (const part of parts) writer.writePiece([part], 'answer')
      writer.complete(answer(parts))
      writer.finish({ kind: 'success' })
    })
    expect(wordsOf(await readAsClient(events))).toEqual(['before', 'after'])
  })
})

const words = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('', '\n', '\n\n', 'a', 'ab'))
const partOf: fc.Arbitrary<Part> = fc.oneof(
  fc.record({
    kind: fc.constant('text' as const),
    mime: fc.constantFrom('text/plain' as const, 'text/markdown' as const),
    content: words,
  }),
  fc.record({
    kind: fc.constant('tool_call' as const),
    id: fc.constantFrom('c1', 'c2', 'c3'),
    name: fc.constantFrom('search', 'theirs'),
    args: fc.constant({ q: 1 }),
  }),
  fc.record({
    kind: fc.constant('tool_call' as const),
    id: fc.constantFrom('c1', 'c2', 'c3'),
    name: fc.constantFrom('search', 'theirs'),
    args: fc.constant({}),
    result: fc.oneof(fc.string({ maxLength: 4 }), fc.constant({ n: 1 }), fc.constant(null)),
  }),
  fc.record({ kind: fc.constant('link' as const), url: fc.constant('https://x.test/a') }),
)
const chunkOf = fc.record({ isInterim: fc.boolean(), parts: fc.array(partOf, { minLength: 1, maxLength: 3 }) })

interface Script {
  readonly chunks: readonly { readonly isInterim: boolean; readonly parts: readonly Part[] }[]
  readonly changed: readonly Part[] | undefined
  readonly ending: 'success' | 'cancelled' | 'fail'
}

/** Joins the pieces as the gateway does. */
async function collect({ chunks, changed }: Script): Promise<NormalizedResponse> {
  const given = chunks.map(({ isInterim, parts }) => ({ ...(isInterim && { status: 'working' as const }), parts }))
  async function* stream() {
    yield* given
  }
  const { parts = [] } = (await collectAnswer(stream() as never, () => undefined)) ?? {}
  const told = changed ?? parts
  return answer(told.length > 0 ? told : [text('.')])
}

function play({ chunks, ending }: Script, response: NormalizedResponse): readonly Event[] {
  return writeRun(writer => {
    for (const { isInterim, parts } of chunks) {
      if (isInterim) writer.writeInterim(parts)
      else writer.writePiece(parts, 'answer')
    }
    if (ending === 'success' && !writer.complete(response)) writer.writeSnapshot(messagesOf(response))
    if (ending === 'fail') writer.fail('failed', 'agent_failed')
    else writer.finish({ kind: ending })
    writer.writePiece([text('late')], 'answer')
  })
}

/** Returns the messages of an answer as in the history, without its calls. */
function messagesOf({ id, parts }: NormalizedResponse): readonly Message[] {
  const groups = groupParts(parts).filter(([first]) => first.kind !== 'tool_call')
  const messages = groups.map((group, at) => ({
    id: nameTextMessage(id, at + 1),
    role: 'assistant' as const,
    content: writeBlocks(group, undefined),
  }))
  return messages.filter(({ content }) => content !== '')
}

describe('for every agent', () => {
  it('the real client reads the stream and has the history’s messages in order', async () => {
    const scripts = fc.record({
      chunks: fc.array(chunkOf, { maxLength: 8 }),
      changed: fc.option(fc.array(partOf, { maxLength: 3 }), { nil: undefined }),
      ending: fc.constantFrom('success' as const, 'cancelled' as const, 'fail' as const),
    })
    await fc.assert(
      fc.asyncProperty(scripts, async script => {
        const response = await collect(script)
        const messages = await readAsClient(play(script, response))
        expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
        if (script.ending !== 'success') return
        const shown = messages.filter(({ role, content }) => role === 'assistant' && content)
        expect(shown.map(({ id, role, content }) => ({ id, role, content }))).toEqual(messagesOf(response))
      }),
      { numRuns: drawCount({ quick: 100, long: 300 }) },
    )
  })
})
