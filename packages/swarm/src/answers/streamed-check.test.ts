import { array, assert, constantFrom, integer, oneof, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agentSpec, callOf, formatRows, openMemorySwarm, scripted, swarmSpec, toolOf } from '../../test/memory-swarm.ts'
import type { AnswerCheck, ModelAnswer, SwarmModel } from '../index.ts'
import { createNavigateTool, defaultAnswerChecks, findAnswerFault, openSwarmClient } from '../index.ts'
import { createStreamedAnswerCheck } from './stream.ts'

const toolNames = new Set(['refund', 'navigate_to_refunds'])
const rulesOf = (checks: readonly AnswerCheck[] = defaultAnswerChecks) => ({ checks, toolNames })
const faultOf = (content: string, checks?: readonly AnswerCheck[]) => findAnswerFault({ content }, rulesOf(checks))

const markup = 'tool markup in output'
const call = 'a tool call in output'

describe('the check of a model’s answer', () => {
  it.each([
    ['<tool_call>{"name":"refund"}</tool_call>', markup],
    ['Let me see. <tool_call>\n{"name": "x"}', markup],
    ['</tool_call>', markup],
    ['<function_call>', markup],
    ['<function=refund>{"order":1}</function>', markup],
    ['<x:invoke name="refund">', markup],
    ['<|python_tag|>refund.call()', markup],
    ['<｜tool▁calls▁begin｜>', markup],
    ['[TOOL_CALLS] [{"name": "refund", "arguments": {}}]', markup],
    ['tool_calls: [refund]', markup],
    ['Done. <tool_call', markup],
    ['Done. <|im_sta', markup],
    ['{"name": "anything", "arguments": {"order": 17}}', call],
    ['[{"name": "anything", "parameters": {}}]', call],
    ['```json\n{"tool": "anything", "input": {}}\n```', call],
    ['{"arguments": {"order": 17}, "name": "refund"}', call],
    ['{"tool_calls": [{"id": 1}]}', call],
    ['{"type": "function", "function": {"name": "x", "arguments": "{}"}}', call],
    ['I give it back: {"name": "refund", "arguments": {"order": 17}}', call],
    ['I give it back:\n```json\n{\n  "name": "refund",\n  "arguments": {}\n}\n```', call],
    ['refund({"order": 17})', call],
    ['refund', call],
    ['`refund({"order": 17})`', call],
    ['functions.refund({"order": 17})', call],
    ['{"name": "refund", "argu', call],
    ['{', call],
    ['}', call],
    ['', 'empty output'],
    [' \n', 'empty output'],
  ])('hides %j (W-25)', (content, fault) => {
    expect(faultOf(content)).toBe(fault)
  })

  it.each([
    ['```js\nconst f = ({ a }) => ({ b: a })\n```'],
    ['Use it so: `fetch(url, { method: "POST" })`.'],
    ['{"a": 1, "b": [true]}'],
    ['[docs](https://shop.example/docs)'],
    ['A <div> and a < b and x <| y'],
    ['An example of the API: {"name": "get_weather", "arguments": {"city": "Rome"}}, as OpenAI writes it.'],
    ['response.tool_calls[0] is the first call'],
    ['A refund takes a week.'],
    ['Functions are values.'],
    ['for (const x of xs) { if (x) { y() } }'],
  ])('passes %j (W-25)', content => {
    expect(faultOf(content)).toBeUndefined()
  })

  it('finds braces only if the swarm looks for them, and accepts sound text (W-25)', () => {
    expect(faultOf('a {b} c', ['braces'])).toBe('braces in output')
    expect(faultOf('<tool_call>', ['braces'])).toBeUndefined()
    expect(faultOf('<tool_call>{"name": "refund"', [])).toBeUndefined()
  })

  it('takes linear time for any text', () => {
    for (const piece of ['{"args":', '<|', '```', '[{', '{"name":"refund",', '{ ', '<a:', '"name":"']) {
      const text = piece.repeat(200_000 / piece.length)
      expect([faultOf(text, ['braces', 'markup', 'json_call']), faultOf(`{${text}`)]).toHaveLength(2)
    }
  })
})

/** Returns the text that a user gets from an answer in these pieces. */
function streamPieces(pieces: readonly string[], checks?: readonly AnswerCheck[]): string {
  let heard = ''
  const semaphore = createStreamedAnswerCheck(rulesOf(checks), words => {
    heard += words
  })
  for (const piece of pieces) semaphore.add(piece)
  expect(semaphore.passedText).toBe(heard)
  return heard
}

const cut = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
const plain = 'All the words of an answer that is long enough to be heard while it is made. '.repeat(6)

describe('the gate of a stream', () => {
  it.each([1, 3, 40])('passes sound text as it comes, %i characters at a time', size => {
    const heard: string[] = []
    const semaphore = createStreamedAnswerCheck(rulesOf(), words => void heard.push(words))
    for (const piece of cut(plain, size)) semaphore.add(piece)
    expect(heard.join('')).toBe(plain)
    expect(heard.length).toBeGreaterThan((plain.length - 160) / size - 2)
  })

  it('holds back the start until it is long enough', () => {
    expect(streamPieces([plain.slice(0, 159)])).toBe('')
    expect(streamPieces([plain.slice(0, 160)])).toBe(plain.slice(0, 160))
  })

  it.each([
    `${plain.slice(0, 100)}<tool_call>{"name":"refund"}</tool_call>${plain}`,
    `{"name": "x", "arguments": {"why": "${plain}"}}`,
    `\`\`\`json\n{"why": "${plain}", "name": "x", "arguments": {}}\`\`\``,
    `refund({"why": "${plain}"})`,
  ])('passes nothing of %j', text => {
    for (const size of [1, 7, 1_000]) expect(streamPieces(cut(text, size))).toBe('')
  })

  it('holds back text that ends with the start of a mark', () => {
    const text = `${plain.slice(0, 155)}<tool_call>{}`
    for (const size of [1, 5, 160]) expect(streamPieces(cut(text, size))).toBe('')
    const harmless = `${plain.slice(0, 155)}<b>${plain}`
    expect(streamPieces(cut(harmless, 1))).toBe(harmless)
  })

  it.each([
    '<tool_call>{"name":"refund"}',
    '<|python_tag|>',
    '[TOOL_CALLS]',
    '{"name": "refund", "arguments": {}}',
    '```json\n{\n  "name": "refund",\n  "arguments": {}\n}\n```',
    '[ {"function": {"name": "refund", "arguments": {}}}]',
  ])('closes permanently at %j within the text', mark => {
    for (const size of [1, 2, 13, 5_000]) expect(streamPieces(cut(plain + mark + plain, size))).toBe(plain)
  })

  it('passes a long answer in half a million chunks, in linear time', () => {
    expect(streamPieces(new Array<string>(500_000).fill('word '))).toHaveLength(2_500_000)
  })

  it('waits at a possible start of a mark, and continues if it is none', () => {
    const code = `${plain}\`\`\`js\nconst f = { a: [1, 2], b: x < y }\n\`\`\`\n`
    expect(streamPieces(cut(code, 1))).toBe(plain)
    expect(streamPieces(cut(code + plain, 1))).toBe(code + plain)
  })

  it('passes a sound start of any text in any chunks, and nothing after an unsound start', () => {
    const words = oneof(
      constantFrom(
        'Hello there. ',
        '<tool_call>',
        '<',
        '{',
        '}',
        '[',
        '`',
        '```json\n',
        '{"name": "refund", "arguments": {}}',
        '<|x|>',
      ),
      constantFrom(
        plain,
        '\n',
        'refund',
        '(',
        ')',
        '{"a": 1} ',
        '[TOOL_CALLS]',
        'functions.',
        '{"name": "',
        '", "arguments": ',
      ),
      string({ maxLength: 40 }),
    )
    const seen = { whole: 0, part: 0, none: 0 }
    assert(
      property(array(words, { maxLength: 12 }), integer({ min: 1, max: 50 }), (texts, size) => {
        const text = texts.join('')
        const heard = streamPieces(cut(text, size))
        const fault = faultOf(text)
        expect(text.startsWith(heard)).toBe(true)
        expect(heard).not.toMatch(/<tool_call>|\[TOOL_CALLS\]|<\|x\|>|"name":\s*"refund"/)
        const isWhole = heard === text
        if (fault !== undefined && fault !== 'empty output')
          expect(isWhole && text !== '' && !/<\|?[\w-]*$/.test(text)).toBe(false)
        seen[heard === '' ? 'none' : isWhole ? 'whole' : 'part'] += 1
      }),
      { numRuns: 3_000 },
    )
    expect(Math.min(seen.whole, seen.part, seen.none)).toBeGreaterThan(50)
  })
})

describe('a streamed turn', () => {
  /** Creates a model that answers in pieces. */
  function speaking(...answers: readonly (string | ModelAnswer)[]): SwarmModel & { readonly told: string[] } {
    const left = [...answers]
    const told: string[] = []
    return {
      told,
      async complete(_messages, _tools, onPiece) {
        const next = left.shift() ?? 'nothing left'
        const answer = typeof next === 'string' ? { content: next } : next
        for (const piece of cut(answer.content, 10)) {
          told.push(piece)
          onPiece?.(piece)
        }
        return answer
      },
    }
  }

  async function openStreamed(
    agents: Parameters<typeof swarmSpec>[0],
    overrides: Parameters<typeof swarmSpec>[1] = {},
  ) {
    const { deps } = openMemorySwarm()
    const texts = { placeholders: ['Pardon?'] }
    const client = await openSwarmClient(swarmSpec(agents, { texts, ...overrides }), deps, 'c')
    const complete = async (words: string) => {
      const pieces: string[] = []
      const answer = await client.complete(words, { onText: piece => void pieces.push(piece) })
      expect(answer.startsWith(pieces.join(''))).toBe(true)
      return { answer, heard: pieces.join('') }
    }
    return { client, complete }
  }

  it('reaches the listener while the model writes it, and the history once', async () => {
    const { client, complete } = await openStreamed([agentSpec('a', speaking(plain))])
    expect(await complete('hi')).toEqual({ answer: plain, heard: plain })
    expect(formatRows(await client.history.listRaw())).toEqual(['user/a:hi', `assistant/a:${plain}`])
  })

  it('hides an answer that needs a rescue, and shows its complete replacement (W-25)', async () => {
    const { complete } = await openStreamed([agentSpec('a', speaking('Well, <tool_call>{}', plain))])
    expect(await complete('hi')).toEqual({ answer: plain, heard: '' })
  })

  it('keeps the text before a mark, and the new answer follows (W-25)', async () => {
    const { client, complete } = await openStreamed([agentSpec('a', speaking(`${plain}<tool_call>{}`, 'So it is.'))])
    expect(await complete('hi')).toEqual({ answer: `${plain}\n\nSo it is.`, heard: plain })
    expect((await client.history.listRaw()).map(({ role }) => role)).toEqual(['user', 'resque', 'user', 'assistant'])
  })

  it('shows the placeholder afterwards if the new answer is no better (W-25)', async () => {
    const { complete } = await openStreamed([agentSpec('a', speaking(`${plain}<tool_call>{}`, '<tool_call>'))])
    expect(await complete('hi')).toEqual({ answer: `${plain}\n\nPardon?`, heard: plain })
  })

  it('shows text from before a hand-over first, and the next agent’s after an empty line (W-21)', async () => {
    const handOver = callOf('navigate_to_b')
    const { client, complete } = await openStreamed([
      agentSpec('a', speaking({ ...handOver, content: plain }), { tools: [createNavigateTool({ to: 'b' })] }),
      agentSpec('b', speaking(plain, { content: 'short', tool_calls: [] })),
    ])
    expect(await complete('hi')).toEqual({ answer: `${plain}\n\n${plain}`, heard: `${plain}\n\n${plain}` })
    expect(formatRows(await client.history.listRaw()).at(-1)).toBe(`assistant/b:${plain}`)
  })

  it('holds back a text that is too short for a check before a call', async () => {
    const look = toolOf('look', context => context.commitToolOutput('x'))
    const spoken = { ...callOf('look'), content: 'Let me look.' }
    const { complete } = await openStreamed([agentSpec('a', speaking(spoken, 'It is x.'), { tools: [look] })])
    expect(await complete('hi')).toEqual({ answer: 'It is x.', heard: '' })
  })

  it('streams nothing if a policy checks the answer, and shows nothing of a refused one', async () => {
    const policies = [{ policyName: 'p', banMessage: 'No.', validateOutput: (words: string) => !words.includes('all') }]
    const { complete } = await openStreamed([agentSpec('a', speaking(plain, `${plain} all`))], { policies })
    expect(await complete('hi')).toEqual({ answer: plain, heard: '' })
    expect(await complete('hi')).toEqual({ answer: 'No.', heard: '' })
  })

  it('shows no text from after the end of the turn (W-29)', async () => {
    const { deps } = openMemorySwarm()
    const go = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const model: SwarmModel = {
      async complete(_messages, _tools, onPiece) {
        onPiece?.(plain)
        begun.resolve()
        await go.promise
        onPiece?.('and more')
        return { content: `${plain}and more` }
      },
    }
    const client = await openSwarmClient(swarmSpec([agentSpec('a', model)]), deps, 'c')
    const heard: string[] = []
    const answer = client.complete('hi', { onText: words => void heard.push(words) })
    await begun.promise
    await client.cancelOutput()
    go.resolve()
    expect(await answer).toBe('')
    await new Promise(resolve => setImmediate(resolve))
    expect(heard).toEqual([plain])
  })

  it('shows the answer of a model without streaming when it is complete', async () => {
    const { complete } = await openStreamed([agentSpec('a', scripted(plain))])
    expect(await complete('hi')).toEqual({ answer: plain, heard: '' })
  })
})
