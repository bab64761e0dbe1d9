import { openSimulation } from '@postern/simulation'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import type { HttpAnswer } from '../http/load.ts'
import { formatRequest } from '../http/load.ts'
import { pieces } from '../orders/stream.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'

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
    close: issuer.close,
  }
}

/** `SendStreamingMessage`: a task, an answer in three pieces, the end. */
export async function openStreamCase(): Promise<BenchCase> {
  const issuer = await openAgentIssuer()
  return {
    name: 'stream',
    title: 'A2A stream of three',
    connections: 64,
    contenders: streamContenders,
    prepare: createCallMaker(issuer, 'SendStreamingMessage', '/agents/pieces/a2a'),
    isAccepted: answer => isCompleted(answer) && readTexts(answer.body).includes(pieces.join('')),
    close: issuer.close,
  }
}

/** An answer with the end of a task. */
export function isCompleted({ status, body }: HttpAnswer): boolean {
  return status === 200 && body.includes('TASK_STATE_COMPLETED')
}

/** All that was said: a busy server may put two pieces into one. */
function readTexts(body: Buffer): string {
  return [...body.toString().matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join('')
}

let serial = 0

/** Calls that were never made before; those of the variant `jwt` bear tokens of a few callers. */
export function createCallMaker(issuer: Issuer, method: string, target: string = path): BenchCase['prepare'] {
  const run = process.pid.toString(36)
  return async (count, variant) =>
    Array.from({ length: count }, () => {
      const number = serial++
      const token = variant === 'jwt' ? issuer.tokens[number % callers] : undefined
      return formatRequest(target, formatHeaders(token), formatCall(method, `${run}-${number}`))
    })
}

function formatCall(method: string, id: string): Uint8Array {
  const message = {
    messageId: `message-${id}`,
    role: 'ROLE_USER',
    parts: [{ text: `When does the last train back from the coast leave on Sunday? (${id})` }],
  }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params: { message } }))
}

function formatHeaders(token: string | undefined): Readonly<Record<string, string>> {
  return {
    host: gatewayHost,
    'content-type': 'application/json',
    'a2a-version': '1.0',
    ...(token && { authorization: `Bearer ${token}` }),
  }
}

const sdk = new URL('./sdk.ts', import.meta.url)
const anonymous = { auth: { anonymous: true } }

function listContenders({ loopback, trusted }: Issuer): readonly Contender[] {
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
      aim: 1,
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
      note: 'JSON parsed, one SQLite insert, a constant task; one durable commit for all that arrive together (information)',
      entry: new URL('./floor.ts', import.meta.url),
      setup: {},
    },
  ]
}

/** Both say the same. */
const streamContenders: readonly Contender[] = [
  {
    name: 'Postern, anonymous',
    note: 'no authentication, like its peer here; the message is durable before the turn, the answer before the end',
    ...describeBenchGateway({ a2a: anonymous }),
    needs: [new URL('../ours/agents/pieces.ts', import.meta.url)],
  },
  {
    name: 'SDK 1.3.0 on Express',
    note: 'no authentication, tasks in memory; a task, an artifact in three pieces, 5 ms between them, the end',
    entry: sdk,
    setup: { answer: 'pieces' },
    aim: 1,
  },
]

const lifetimeSeconds = 6 * 3600

/** Who vouches for the callers: an ES256 key behind a JWKS address. */
export interface Issuer extends AsyncDisposable {
  readonly loopback: Readonly<Record<string, number>>
  /** As the gateway's configuration names it. */
  readonly trusted: object
  /** One for each caller, good for hours. */
  readonly tokens: readonly string[]
  close(): Promise<void>
}

/** The JSON-RPC endpoint of the agent that is called. */
const path = '/agents/brief/a2a'

/** The simulation's, for the agent that is called. */
export async function openAgentIssuer(): Promise<Issuer> {
  const { a2a, network, close } = await openSimulation()
  const audience = `https://${gatewayHost}${path}`
  const mint = (_: unknown, index: number) => a2a.token({ sub: `caller-${index}`, audience, lifetimeSeconds })
  return {
    loopback: network.loopback,
    trusted: { ...a2a.issuerConfig, audience },
    tokens: await Promise.all(Array.from({ length: callers }, mint)),
    close,
    [Symbol.asyncDispose]: close,
  }
}
