// Performs the steps of an agent's requirement, from the question to the decision.
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { TestGateway } from './gateway.ts'
import { eventually } from './gateway.ts'

/** An agent that asks before it acts. */
export const shopkeeper = {
  name: 'The shop',
  description: 'Asks before it acts',
  use: fileURLToPath(new URL('../agents/asking/shopkeeper.ts', import.meta.url)),
}

/** Returns the path at which a text lets a person decide. @throws Error when it has no such link */
export function findActionPath(text: string): string {
  const [, path] = /https:\/\/agents\.test(\/actions\/[\w-]{43})(?![\w-])/.exec(text) ?? []
  if (path === undefined) throw new Error(`no action link in: ${text}`)
  return path
}

export function decide(gateway: Pick<TestGateway, 'url'>, path: string, decision: string): Promise<Response> {
  return fetch(gateway.url() + path, { method: 'POST', body: new URLSearchParams({ decision }), redirect: 'manual' })
}

/** Retries a decision until it is made, like a person whose browser got no answer. */
export function insist(url: string, path: string): Promise<number> {
  return eventually(async () => {
    const answer = await decide({ url: () => url }, path, 'grant').catch(() => undefined)
    return answer && [200, 409].includes(answer.status) && answer.status
  }, 60_000)
}

export interface RpcAnswer {
  readonly status: number
  readonly task?: AnsweredTask | undefined
  readonly error?: { readonly message: string; readonly violations: readonly { field: string; description: string }[] }
}

interface AnsweredTask {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly message?: { readonly parts: readonly WirePart[] } }
  readonly artifacts?: readonly { readonly parts: readonly WirePart[] }[]
}

interface WirePart {
  readonly text?: string
  readonly data?: { readonly kind?: string; readonly policy?: Readonly<Record<string, unknown>> }
}

export interface AskShopOptions {
  readonly taskId?: string
  readonly contextId?: string
  readonly messageId?: string
  readonly resolution?: object
  /** The subject of the caller's token; `null` for a call without a token. */
  readonly sub?: string | null
}

/** Sends one message to the shop over A2A, by hand. Returns the task that it leads to. */
export async function askShop(gateway: TestGateway, text: string, options: AskShopOptions = {}): Promise<RpcAnswer> {
  const { taskId, contextId, messageId = randomUUID(), resolution, sub = 'carol' } = options
  const metadata = resolution && { mentionable: { policy_resolution: resolution } }
  const message = {
    messageId,
    role: 'ROLE_USER',
    parts: [{ text }],
    ...(taskId && { taskId }),
    ...(contextId && { contextId }),
    ...(metadata && { metadata }),
  }
  return callShop(gateway, 'SendMessage', { message }, sub)
}

export async function callShop(
  gateway: TestGateway,
  method: string,
  params: object,
  sub: string | null = 'carol',
): Promise<RpcAnswer> {
  const authorization = sub === null ? {} : { authorization: `Bearer ${await gateway.simulation.a2a.token({ sub })}` }
  const response = await fetch(`${gateway.url()}/agents/shop/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...authorization },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as RpcBody
  const task = result && ('task' in result ? result.task : (result as AnsweredTask))
  const violations = error?.data?.flatMap(({ fieldViolations = [] }) => fieldViolations) ?? []
  return { status: response.status, task, ...(error && { error: { message: error.message, violations } }) }
}

interface RpcBody {
  readonly result?: { readonly task: AnsweredTask } | AnsweredTask
  readonly error?: {
    readonly message: string
    readonly data?: readonly { readonly fieldViolations?: readonly { field: string; description: string }[] }[]
  }
}

/** Returns the policy in a task's status message. @throws Error when there is none */
export function readPolicy({ task }: RpcAnswer): Readonly<Record<string, unknown>> {
  const policy = task?.status.message?.parts.find(({ data }) => data?.kind === 'policy')?.data?.policy
  if (!policy) throw new Error(`no policy in ${JSON.stringify(task)}`)
  return policy
}

/** Returns all texts of a task: its results, and its question or refusal. */
export function readAnswerText({ task }: RpcAnswer): string {
  const sentParts = [...(task?.artifacts ?? []).flatMap(({ parts }) => parts), ...(task?.status.message?.parts ?? [])]
  return sentParts.map(({ text }) => text ?? '').join('\n')
}
