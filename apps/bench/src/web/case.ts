// Defines the bench case for the web chat: one AG-UI run in a new conversation.
import { hash } from 'node:crypto'
import { rows } from '../aims/rows.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { formatRequest } from '../http/message.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'

const token = 'bench-web-token-of-somebody'
export const webAuth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
const never = 1_000_000_000
const limits = {
  runs_per_owner: never,
  threads_per_owner: never,
  entries_per_owner: never,
  bytes_per_owner: Number.MAX_SAFE_INTEGER,
}

/** Opens the case of a run of the web chat over AG-UI: a short question, and the answer as a stream of events; each in a conversation of its own. */
export async function openWebCase(): Promise<BenchCase> {
  const runId = process.pid.toString(36)
  let serial = 0
  return {
    name: 'web',
    title: 'Web run',
    connections: 24,
    contenders,
    prepare: async count => Array.from({ length: count }, () => formatQuestion(`${runId}-${serial++}`)),
    isExpected: ({ status, body }) => status === 200 && body.includes('"RUN_FINISHED"') && body.includes('"ok"'),
    close: async () => undefined,
  }
}

const contenders: readonly Contender[] = [
  {
    name: 'Postern',
    note: 'a bearer token checked, validated; durable twice: the message before the turn, the answer before the end',
    ...describeBenchGateway({ web: { enabled: true, auth: webAuth, limits } }),
  },
  {
    name: 'floor: bare Hono',
    note: 'a bearer token checked, JSON parsed, constant events; a SQLite row of the message before the first, one of the answer before the last; one durable commit for all that arrive together',
    entry: new URL('./floor.ts', import.meta.url),
    setup: webAuth,
    ...rows.run,
  },
]

function formatQuestion(id: string): Uint8Array {
  const question = `When does the last train back from the coast leave on Sunday? (${id})`
  return formatRun('/api/v1/agents/brief/runs', id, question)
}

/** Formats a run in a conversation of its own; `id` makes it unique. */
export function formatRun(target: string, id: string, content: string): Uint8Array {
  const messages = [{ id: `message-${id}`, role: 'user', content }]
  const input = { threadId: `thread-${id}`, runId: `run-${id}`, messages, tools: [], context: [], state: {} }
  const headers = {
    host: gatewayHost,
    'content-type': 'application/json',
    accept: 'text/event-stream',
    authorization: `Bearer ${token}`,
  }
  return formatRequest(target, headers, Buffer.from(JSON.stringify(input)))
}
