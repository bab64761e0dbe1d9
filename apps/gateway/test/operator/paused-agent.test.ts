import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentPausedText } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests cover peers that wait for an answer of an agent that an operator has paused.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway(
    {},
    {
      agents: { echo: { use: 'builtin:echo' }, busy: { use: '../agents/waiting/gated.ts', concurrency: 1 } },
      default_agent: 'echo',
    },
  )
})
afterAll(() => web.close())

async function setPaused(action: 'pause' | 'resume', agent = 'echo'): Promise<void> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${web.gateway.url()}/operator/api/agents/${agent}/${action}`, {
    method: 'POST',
    headers,
  })
  expect(response.status).toBe(200)
}

interface WireTask {
  readonly id: string
  readonly status: { readonly state: string; readonly message?: { readonly parts: readonly { text: string }[] } }
}

async function callA2a(method: string, params: object, agent = 'echo'): Promise<Response> {
  const { a2a } = web.gateway.simulation
  const headers = {
    'content-type': 'application/json',
    'a2a-version': '1.0',
    authorization: `Bearer ${await a2a.token({ sub: 'caller' })}`,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return fetch(`${web.gateway.url()}/agents/${agent}/a2a`, { method: 'POST', headers, body })
}

const makeMessage = (text: string) => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
})

async function callTask(method: string, params: object, agent?: string): Promise<WireTask> {
  const { result, error } = (await (await callA2a(method, params, agent)).json()) as {
    result?: WireTask & { task?: WireTask }
    error?: unknown
  }
  if (!result) throw new Error(JSON.stringify(error))
  return result.task ?? result
}

const wordsOf = ({ status }: WireTask) => status.message?.parts.map(({ text }) => text).join()

test('a blocking call returns a waiting task with an explanation, and the answer follows when the agent resumes', async () => {
  await setPaused('pause')
  const task = await callTask('SendMessage', makeMessage('hello'))
  expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
  expect(wordsOf(task)).toBe(agentPausedText)
  expect(wordsOf(await callTask('GetTask', { id: task.id }))).toBe(agentPausedText)
  await setPaused('resume')
  const endedTask = await eventually(async () => {
    const now = await callTask('GetTask', { id: task.id })
    return now.status.state === 'TASK_STATE_COMPLETED' && now
  })
  expect(wordsOf(endedTask)).toBeUndefined()
})

test('a call that waits behind another one returns when an operator pauses the agent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-busy-'))
  const first = callTask('SendMessage', makeMessage(`wait in ${folder}`), 'busy')
  await eventually(async () => existsSync(join(folder, 'calls')))
  const second = callTask('SendMessage', makeMessage(`wait in ${folder}`), 'busy')
  await eventually(async () => (await web.gateway.messages()).length >= 3)
  await setPaused('pause', 'busy')
  expect(wordsOf(await second)).toBe(agentPausedText)
  writeFileSync(join(folder, 'go'), '')
  expect((await first).status.state).toBe('TASK_STATE_COMPLETED')
  await setPaused('resume', 'busy')
})

test('a stream begins with an explanation and continues with the answer', async () => {
  await setPaused('pause')
  const stream = await callA2a('SendStreamingMessage', makeMessage('hello'))
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const readUntil = async (word: string) => {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += Buffer.from(chunk.value).toString()
      if (text.includes(word)) return
    }
  }
  await readUntil('TASK_STATE_SUBMITTED')
  expect(text).toContain(agentPausedText)
  await setPaused('resume')
  await readUntil('TASK_STATE_COMPLETED')
  expect(text).toContain('TASK_STATE_COMPLETED')
  await reader.cancel()
})

test('a chat run ends with an explanation, and the answer joins the conversation when the agent resumes', async () => {
  await setPaused('pause')
  const threadId = uniqueName('thread')
  const events = await web.runChat('hello', { threadId })
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: agentPausedText, code: 'agent_paused' })
  await setPaused('resume')
  const roles = await eventually(async () => {
    const history = await web.readHistory(threadId)
    return history.length === 2 && history.map(({ role }) => role)
  })
  expect(roles).toEqual(['user', 'assistant'])
})
