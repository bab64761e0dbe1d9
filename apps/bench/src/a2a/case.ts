// Defines the bench cases for a short A2A call: an agent that answers at once, and one that takes 20 ms.
import { rows } from '../aims/rows.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { slowAgentDelayMs } from '../orders/slow.ts'
import { describeBenchGateway } from '../ours/open.ts'
import { isCompleted } from './is-completed.ts'
import type { Issuer } from './issuer.ts'
import { openAgentIssuer } from './issuer.ts'
import { createCallMaker } from './make-calls.ts'

const connections = 24

/** Opens the case of `SendMessage` by JSON-RPC, A2A 1.0: a short question, answered in the call at once. */
export async function openA2aCase(): Promise<BenchCase> {
  const issuer = await openAgentIssuer()
  return {
    name: 'a2a',
    title: 'A2A `SendMessage`, an agent that answers at once',
    connections,
    contenders: listContenders(issuer),
    prepare: createCallMaker(issuer, 'SendMessage'),
    isExpected: ({ status, body }) =>
      status === 200 && body.includes('"result"') && !body.includes('TASK_STATE_FAILED'),
    close: issuer.close,
  }
}

/** Opens the same case with an agent that takes 20 ms, so that its turn and its answer are in different commits. */
export async function openSlowA2aCase(): Promise<BenchCase> {
  const issuer = await openAgentIssuer()
  return {
    name: 'a2a-20ms',
    title: `A2A \`SendMessage\`, an agent that takes ${slowAgentDelayMs} ms`,
    connections,
    contenders: slowContenders,
    prepare: createCallMaker(issuer, 'SendMessage', () => '/agents/slow/a2a'),
    isExpected: isCompleted,
    close: issuer.close,
  }
}

const sdk = new URL('./sdk.ts', import.meta.url)
const anonymous = { auth: { anonymous: true } }

/** With its own store on disk, the SDK has the same duty as Postern: an answered task survives a crash. */
const onDisk = {
  name: 'SDK 1.3.0 on Express, store on disk',
  note: 'the same with its database store on SQLite; each task is synced to disk in a commit of its own (information)',
  entry: sdk,
} as const

function listContenders({ loopback, issuerConfig: trusted }: Issuer): readonly Contender[] {
  return [
    {
      name: 'Postern, anonymous',
      note: 'no authentication, like its peers here; durable twice: the message before the turn, the answer before the reply',
      ...describeBenchGateway({ a2a: anonymous }),
    },
    {
      name: 'Postern, ES256 JWT',
      note: 'the same with a bearer token verified on every call (8 callers)',
      ...describeBenchGateway({ a2a: { auth: { issuers: [trusted] } }, network: { loopback } }),
      variant: 'jwt',
    },
    {
      name: 'SDK 1.3.0 on Express, task',
      note: 'no authentication, tasks in memory, answers with a completed task',
      entry: sdk,
      setup: { answer: 'task' },
      ...rows.callAtOnce,
    },
    { ...onDisk, setup: { answer: 'task', store: 'disk' } },
    {
      name: 'SDK 1.3.0 on Hono, task',
      note: 'tasks in memory, the JSON-RPC handler of the SDK behind Hono (information)',
      entry: sdk,
      setup: { answer: 'task', framework: 'hono' },
    },
    {
      name: 'SDK 1.3.0 on Express, message',
      note: 'the same on Express, answering with a message and keeping nothing (information)',
      entry: sdk,
      setup: { answer: 'message' },
    },
    {
      name: 'floor: bare Hono',
      note: 'JSON parsed, one SQLite insert, a constant task; one durable commit for all that arrive together (information)',
      entry: new URL('./floor.ts', import.meta.url),
      setup: {},
    },
  ]
}

/** All of them wait for the same agent. */
const slowContenders: readonly Contender[] = [
  {
    name: 'Postern, anonymous',
    note: `no authentication; the agent answers after ${slowAgentDelayMs} ms; durable twice`,
    ...describeBenchGateway({ a2a: anonymous }),
    requiredFiles: [new URL('../ours/agents/slow.ts', import.meta.url)],
  },
  {
    name: 'SDK 1.3.0 on Express, task',
    note: `no authentication, tasks in memory, answers with a completed task after ${slowAgentDelayMs} ms`,
    entry: sdk,
    setup: { answer: 'slowTask' },
    ...rows.callOf20Ms,
  },
  { ...onDisk, setup: { answer: 'slowTask', store: 'disk' } },
]
