import { CommandError } from '@postern/operator/commands'
import { questionViews } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { call, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'

// These tests run a swarm behind one address from end to end: real sockets, real signatures, and a model that answers by script.

let swarm: SwarmGateway
let queries: string[] = []

beforeAll(async () => {
  swarm = await openSwarmGateway(
    (memberName, lastText, { body }) => {
      queries.push(memberName)
      const { role } = body.messages.at(-1) ?? {}
      if (memberName === 'triage') {
        if (lastText.includes('somebody')) return call('navigate_to_human', {})
        return lastText.includes('money') ? call('navigate_to_refunds', {}) : replyWith('Triage here.')
      }
      if (role === 'user' && lastText.includes('look')) return call('look_up', { order: '17' })
      return replyWith(`Refunds here, heard: ${role}.`)
    },
    { email: { listen: { port: 0, protocol: 'smtp' }, write_to: ['*@alice.test'] } },
  )
})
afterAll(() => swarm.close())

interface Note {
  readonly id: string
  readonly content: string
  readonly attributedTo: string
}

async function mention(text: string, inReplyTo?: string, from = 'alice@mastodon.test'): Promise<Note> {
  const { fediverse } = swarm.gateway.simulation
  const to = '@desk@agents.test'
  const { objectId } = await fediverse.deliver({ from, to, text: `${to} ${text}`, ...(inReplyTo && { inReplyTo }) })
  const { activity } = await fediverse.awaitReply(objectId, 30_000)
  return activity.object as unknown as Note
}

interface Exported {
  readonly role: string
  readonly agentName: string
  readonly content: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
}

async function exportNewest<Message = Exported>(format: string): Promise<readonly Message[]> {
  const [newest] = await swarm.gateway.messages()
  const query = new URLSearchParams({ format, thread: newest?.id ?? '' })
  return (await swarm.requestOperator<{ messages: readonly Message[] }>(`/transcript?${query}`)).messages
}

test('a hand-over on a fediverse thread keeps the address, and survives a restart (W-21, W-22, W-23)', async () => {
  queries = []
  const first = await mention('I want my money back, look it up')
  expect(first.content).toContain('Refunds here, heard: tool.')
  expect(first.content).not.toContain('navigate_to')
  expect(first.attributedTo).toBe('https://agents.test/agents/desk')
  expect(queries).toEqual(['triage', 'refunds', 'refunds'])

  await swarm.gateway.restart()
  const second = await mention('Thank you', first.id)
  expect(second.content).toContain('Refunds here, heard: user.')
  expect(second.attributedTo).toBe('https://agents.test/agents/desk')
  expect(queries.at(-1)).toBe('refunds')
})

test('the transcript shows each agent’s actions once, in order (W-23)', async () => {
  const rows = (await exportNewest('swarm')).map(({ role, agentName, tool_calls, content }) =>
    [role, agentName, tool_calls?.[0]?.function.name ?? content].join(' '),
  )
  expect(rows).toEqual([
    'user  I want my money back, look it up',
    'assistant triage navigate_to_refunds',
    'tool triage Navigated from triage to refunds',
    'assistant refunds look_up',
    'tool refunds {"order":"17","paid":"20.00"}',
    'assistant refunds Refunds here, heard: tool.',
    'user  Thank you',
    'assistant refunds Refunds here, heard: user.',
  ])
})

test('a member gets the shared entries and its own calls and results, and no other member’s (W-14)', async () => {
  const { messages } = swarm.model.requests.at(-1)?.body ?? { messages: [] }
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
  expect(JSON.stringify(messages)).not.toContain('navigate')
  expect(messages.at(-1)?.content).toMatch(/"from":"@alice@mastodon\.test".*"verified":true[\s\S]*Thank you$/)
})

test('messages of other people in the conversation have their names', async () => {
  const first = await mention('My order is late')
  await mention('Mine is, too', first.id, 'alice@gotosocial.test')
  const { messages } = swarm.model.requests.at(-1)?.body ?? { messages: [] }
  expect(messages[1]?.content).toBe('@alice@mastodon.test:\n\nMy order is late')
  expect(messages.at(-1)?.content).toMatch(/"from":"@alice@gotosocial\.test"[\s\S]*Mine is, too$/)
})

test('a model does not see a forbidden tool', () => {
  const offered = swarm.model.requests.flatMap(({ body }) => body.tools ?? [])
  expect(JSON.stringify(offered)).toContain('refund')
  expect(JSON.stringify(offered)).not.toContain('burn')
})

interface Question {
  readonly id: string
  readonly member: string
  readonly from: string
  readonly text: string
}

async function awaitQuestion(): Promise<Question> {
  return eventually(async () => (await swarm.requestOperator<{ items: readonly Question[] }>('/questions')).items[0])
}

test('the operator sees and answers a question to a human, and the answer reaches its conversation (W-26)', async () => {
  const pendingNote = mention('May I speak to somebody?')
  const question = await awaitQuestion()
  expect(question).toMatchObject({ member: 'human', from: '@alice@mastodon.test', text: 'May I speak to somebody?' })
  await swarm.requestOperator(`/questions/${question.id}`, { text: 'It is me, Eve.' })
  const handOverNote = await pendingNote
  expect(handOverNote.content).toContain('It is me, Eve.')
  expect(handOverNote.attributedTo).toBe('https://agents.test/agents/desk')
  expect((await exportNewest('swarm')).at(-1)).toMatchObject({ agentName: 'human', content: 'It is me, Eve.' })
  await expect(swarm.requestOperator(`/questions/${question.id}`, { text: 'And again' })).rejects.toThrow(
    /404 .*Cannot answer: nobody waits for an answer to this question/,
  )
})

test('the human can also see and answer the question at a terminal (W-26)', async () => {
  writeRunFile(swarm.gateway.dataDir, { url: swarm.gateway.url(), pid: process.pid, isSimulating: false })
  const config = {
    data: swarm.gateway.dataDir,
    operator_token: operatorToken,
    agents: { echo: { use: 'builtin:echo' } },
  }
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: swarm.gateway.dataDir, missingSettings: [], path: undefined })
  const lines: string[] = []
  const output = { openClient, json: false, print: (text: string) => void lines.push(text) }
  const pendingNote = mention('Is somebody there at all?')
  const { id } = await awaitQuestion()
  await questionViews.list(output, {})
  expect(lines.join('\n')).toMatch(
    new RegExp(`${id} +desk +human +@alice@mastodon\\.test .*Is somebody there at all\\?`),
  )
  await questionViews.answer(output, { id, text: 'At your service.' })
  expect(lines.at(-1)).toBe(`${id}: answered`)
  expect((await pendingNote).content).toContain('At your service.')
  await expect(questionViews.answer(output, { id, text: 'And again' })).rejects.toThrow(
    new CommandError('Cannot answer: nobody waits for an answer to this question'),
  )
})
