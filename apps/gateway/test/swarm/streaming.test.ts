import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { describeSwarm, nameOne, openSwarmChat, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'
import { picture } from './picture.ts'

// These tests check what readers of a stream receive while a swarm answers, and what its models are shown.

const long = 'All the words of an answer that is long enough to be heard while it is made. '.repeat(3)

let swarm: SwarmGateway
/** Words that hold the model until they are released. */
const heldCalls = new Map<string, PromiseWithResolvers<void>>()

beforeAll(async () => {
  swarm = await openSwarmGateway(
    async (member, _, { body }) => {
      const text = readWords(body.messages.at(-1)?.content)
      await [...heldCalls].find(([word]) => text.includes(word))?.[1].promise
      if (text.includes('endless')) return { pieces: speak(long).slice(0, -1), hangs: true }
      if (text.includes('late mark')) return { pieces: speak(`${long}<tool_call>{"name": "refund"}`) }
      if (text.includes('early mark')) return { pieces: speak(`Let me see. <tool_call>{"name": "refund"}${long}`) }
      if (text.includes('long')) return { pieces: speak(long) }
      return replyWith(`${member} heard ${text}`)
    },
    { email: { listen: { port: 0, protocol: 'smtp' } } },
  )
  const agentConfig = describeSwarm(swarm.model.baseUrl)
  const seeing = {
    ...agentConfig,
    model: { base_url: swarm.model.baseUrl, model: 'test-model', images: true, thoughts: 'none' },
  }
  await swarm.gateway.restart({ agents: { desk: agentConfig, merging: { ...agentConfig, queue: 'merge' }, seeing } })
})
afterAll(() => swarm.close())

/** Returns the last line of a model's prompt, with pictures or without. */
function readWords(content: unknown): string {
  const text = Array.isArray(content) ? (content[0] as { readonly text: string }).text : String(content)
  return text.split('\n').at(-1) ?? ''
}

/** Splits a text into words; the end is the last chunk. */
function speak(text: string): readonly string[] {
  const chunks = (text.match(/\S+\s*/g) ?? []).map(content => ({ index: 0, delta: { content }, finish_reason: null }))
  const endChunk = { index: 0, delta: {}, finish_reason: 'stop' }
  return [...chunks, endChunk].map(choice => `data: ${JSON.stringify({ choices: [choice] })}\n\n`)
}

const organisationOf = {
  get gateway() {
    return swarm.gateway
  },
}
const chat = openSwarmChat(organisationOf)

/** Reads a stream until `isEnough`, and leaves the rest unread. */
async function readUntil(answer: Response, isEnough: (text: string) => boolean): Promise<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!isEnough(text)) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) break
    text += value
  }
  await reader?.cancel()
  return text
}

const wordsOf = (text: string) =>
  [...text.matchAll(/"type":"TEXT_MESSAGE_CONTENT".*?"delta":("(?:[^"\\]|\\.)*")/g)].map(
    ([, delta = '""']) => JSON.parse(delta) as string,
  )

test('a chat receives a member’s text while its model still writes, under its name (W-31)', async () => {
  const [threadId, runId] = [nameOne('thread'), nameOne('run')]
  const response = await chat.beginRun(threadId, 'something endless', runId)
  // A space is sent together with the word after it.
  const reportedText = await readUntil(response, text => wordsOf(text).join('') === long.trimEnd())
  expect(wordsOf(reportedText).join('')).toBe(long.trimEnd())
  expect(wordsOf(reportedText).length).toBeGreaterThan(5)
  expect(reportedText).toMatch(/"type":"TEXT_MESSAGE_START"[^\n]*"name":"triage"/)
  expect(reportedText).not.toContain('RUN_FINISHED')
  expect(await (await chat.postJson(`runs/${runId}/cancel`, {})).json()).toEqual({ cancelled: true })
})

test('a chat never receives text that needs a rescue (W-25)', async () => {
  const early = await chat.runChat(nameOne('thread'), 'an early mark')
  expect(early).not.toMatch(/tool_call>|Let me see/)
  expect(wordsOf(early).join('')).toMatch(/Could you|again|lost the thread/)
  const late = wordsOf(await chat.runChat(nameOne('thread'), 'a late mark')).join('')
  expect(late.slice(0, long.length)).toBe(long)
  expect(late.slice(long.length)).toMatch(/^\n\n.*(?:Could you|again|lost the thread)/)
})

test('an A2A caller receives a member’s text in chunks, once', async () => {
  const message = { messageId: nameOne('msg'), role: 'ROLE_USER', parts: [{ text: 'something long' }] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })
  const authorization = `Bearer ${await swarm.gateway.simulation.a2a.token({ sub: 'carol' })}`
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization }
  const response = await fetch(`${swarm.gateway.url()}/agents/desk/a2a`, { method: 'POST', headers, body })
  const events = [...(await response.text()).matchAll(/^data: ?(.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data).result,
  )
  const pieces = events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? []).map(({ text }) => text)
  expect(pieces.length).toBeGreaterThan(5)
  expect(pieces.join('')).toBe(long)
  expect(events.at(-1).statusUpdate.status).not.toHaveProperty('message')
})

test('merged messages occur once in the model’s input and in the history', async () => {
  const { fediverse } = swarm.gateway.simulation
  const context = 'https://mastodon.test/contexts/merged'
  const postText = (text: string) =>
    fediverse.deliver({ to: '@merging@agents.test', text, context, visibility: 'direct' })
  const heldCall = Promise.withResolvers<void>()
  heldCalls.set('first words', heldCall)
  const countBefore = swarm.model.requests.length
  await postText('first words')
  await eventually(async () => swarm.model.requests.length > countBefore)
  await postText('second words')
  const { objectId } = await postText('third words')
  heldCall.resolve()
  await fediverse.awaitReply(objectId, 30_000)
  const promptOf = (index: number) => JSON.stringify(swarm.model.requests.at(index)?.body.messages)
  const countIn = (prompt: string, text: string) => prompt.split(text).length - 1
  expect(swarm.model.requests).toHaveLength(countBefore + 2)
  const mergedPrompt = promptOf(-1)
  expect(['first words', 'second words', 'third words'].map(text => countIn(mergedPrompt, text))).toEqual([2, 1, 1])
  const { objectId: lastId } = await postText('fourth words')
  await fediverse.awaitReply(lastId, 30_000)
  expect(['second words', 'fourth words'].map(text => countIn(promptOf(-1), text))).toEqual([1, 1])
})

test.each([
  ['seeing', true],
  ['desk', false],
])('a member whose model accepts pictures gets the picture of a mail: %s', async (agent, isSeen) => {
  const { mail } = swarm.gateway.simulation
  const attachments = [{ filename: 'cup.png', contentType: 'image/png', content: Buffer.from(picture, 'base64') }]
  const receipt = await mail.deliver({ to: `${agent}@agents.test`, text: 'What is it?', attachments })
  expect((await mail.awaitReply(receipt.mail.messageId, 30_000)).text).toContain('triage heard')
  const lastMessage = swarm.model.requests.at(-1)?.body.messages.at(-1)?.content
  expect(JSON.stringify(lastMessage)).toContain('cup.png')
  expect(JSON.stringify(lastMessage).includes(`data:image/png;base64,${picture}`)).toBe(isSeen)
})
