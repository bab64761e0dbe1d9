import type { BenchCase, Contender } from '../harness/case.ts'
import { formatRequest } from '../http/message.ts'
import { describeBenchGateway, gatewayHost } from '../ours/describe.ts'
import type { Issuer } from './issuer.ts'
import { openAgentIssuer, path } from './issuer.ts'

const callers = 8

/** `SendMessage` by JSON-RPC, A2A 1.0: a short question, answered in the call. */
export async function openA2aCase(): Promise<BenchCase> {
  const issuer = await openAgentIssuer()
  return {
    name: 'a2a',
    title: 'A2A SendMessage',
    connections: 24,
    contenders: listContenders(issuer),
    prepare: createCallMaker(issuer, 'SendMessage'),
    isAccepted: ({ status, body }) =>
      status === 200 && body.includes('"result"') && !body.includes('TASK_STATE_FAILED'),
    close: async () => issuer.close(),
  }
}

let serial = 0

/** Calls that were never made before; those of the variant `jwt` bear tokens of a few callers. */
export function createCallMaker(issuer: Issuer, method: string): BenchCase['prepare'] {
  const tokens = issuer.mintTokens(callers)
  const run = process.pid.toString(36)
  const prepareOne = (variant: string | undefined): Uint8Array => {
    const number = serial++
    const token = variant === 'jwt' ? tokens[number % callers] : undefined
    return formatCall(method, `${run}-${number}`, token)
  }
  return async (count, variant) => Array.from({ length: count }, () => prepareOne(variant))
}

function formatCall(method: string, id: string, token: string | undefined): Uint8Array {
  const message = {
    messageId: `message-${id}`,
    role: 'ROLE_USER',
    parts: [{ text: `When does the last train back from the coast leave on Sunday? (${id})` }],
  }
  const call = { jsonrpc: '2.0', id, method, params: { message } }
  const headers = {
    host: gatewayHost,
    'content-type': 'application/json',
    'a2a-version': '1.0',
    ...(token && { authorization: `Bearer ${token}` }),
  }
  return formatRequest(path, headers, Buffer.from(JSON.stringify(call)))
}

const anonymousName = 'Postern, anonymous'

function listContenders({ host, port, trusted }: Issuer): readonly Contender[] {
  const sdk = new URL('./sdk.ts', import.meta.url)
  return [
    {
      name: anonymousName,
      note: 'no authentication, like its peers here; durable twice: the message before the turn, the answer before the reply',
      ...describeBenchGateway({ a2a: { auth: { anonymous: true } } }),
    },
    {
      name: 'Postern, ES256 JWT',
      note: 'the same with a bearer token verified on every call (8 callers)',
      ...describeBenchGateway({ a2a: { auth: { issuers: [trusted] } }, network: { loopback: { [host]: port } } }),
      variant: 'jwt',
    },
    {
      name: 'SDK 1.3.0 on Express, task',
      note: 'no authentication, tasks in memory, answers with a completed task',
      entry: sdk,
      setup: { answer: 'task' },
      aim: 2.5,
    },
    {
      name: 'SDK 1.3.0 on Hono, task',
      note: 'the same, its JSON-RPC handler behind Hono (information)',
      entry: sdk,
      setup: { answer: 'task', framework: 'hono' },
    },
    {
      name: 'SDK 1.3.0 on Express, message',
      note: 'the same, answering with a message and keeping nothing (information)',
      entry: sdk,
      setup: { answer: 'message' },
    },
    {
      name: 'floor: bare Hono',
      note: 'JSON parsed, one durable SQLite insert, a constant task; nothing else',
      entry: new URL('./floor.ts', import.meta.url),
      setup: { groupCommit: false },
      aim: 0.5,
    },
    {
      name: 'floor, group commit',
      note: 'the same, with one durable commit for all inserts that arrive together (information)',
      entry: new URL('./floor.ts', import.meta.url),
      setup: { groupCommit: true },
    },
  ]
}
