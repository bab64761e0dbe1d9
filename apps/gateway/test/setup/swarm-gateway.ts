// Opens a gateway with a swarm whose models follow a script.
import { hash } from 'node:crypto'
import type { Complete, ModelReply, ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import type { TestGateway } from './gateway.ts'
import { openTestGateway, operatorToken } from './gateway.ts'
import { checkEventStream, parseEvents } from './web-gateway.ts'

export { replyWith, respondWithToolCall as call }

export const annsToken = 'token-of-ann-for-the-tests'

/** Returns the name of the swarm's member whose prompt the request has; the prompt's first line tells it. */
export function memberOf(request: Parameters<Complete>[0]): string {
  const system = request.body.messages[0]
  return /^I am (\w+)\./m.exec(String(system?.content))?.[1] ?? 'nobody'
}

/** Returns the last message of the model's prompt as text. */
export function lastOf(request: Parameters<Complete>[0]): string {
  return String(request.body.messages.at(-1)?.content)
}

export interface SwarmGateway {
  readonly gateway: TestGateway
  readonly model: ModelServer
  requestOperator<Answer>(path: string, body?: unknown): Promise<Answer>
  close(): Promise<void>
}

/** A web chat with the swarm, as Ann. */
interface SwarmChat {
  postJson(path: string, body: object): Promise<Response>
  /** Runs the chat once. Returns everything that it sent of the run, as one text. */
  runChat(threadId: string, content: string, runId?: string): Promise<string>
  beginRun(threadId: string, content: string, runId?: string): Promise<Response>
}

let count = 0
/** Returns a unique name. */
export const nameOne = (label: string) => `${label}-${++count}`

export function openSwarmChat(swarm: Pick<SwarmGateway, 'gateway'>, agent = 'desk'): SwarmChat {
  function postJson(path: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${annsToken}` }
    const url = `${swarm.gateway.url()}/api/v1/agents/${agent}/${path}`
    return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const beginRun: SwarmChat['beginRun'] = (threadId, content, runId = nameOne('run')) =>
    postJson('runs', { threadId, runId, messages: [{ id: nameOne('msg'), role: 'user', content }] })
  async function runChat(...input: Parameters<SwarmChat['beginRun']>): Promise<string> {
    const text = await (await beginRun(...input)).text()
    await checkEventStream(text, parseEvents(text))
    return text
  }
  return { postJson, beginRun, runChat }
}

type Script = (
  memberName: string,
  lastText: string,
  request: Parameters<Complete>[0],
) => ModelReply | Promise<ModelReply>

/** Describes the swarm `desk`, in which triage hands over to refunds; the answers of its members' models are scripted. */
export function describeSwarm(base_url: string, members: object = {}): Record<string, unknown> {
  return {
    use: 'swarm',
    default_agent: 'triage',
    model: { base_url, model: 'test-model', thoughts: 'none' },
    members: {
      triage: { prompt: 'I am triage.', navigates_to: ['refunds', 'human'], description: 'Finds out what it is about' },
      refunds: {
        prompt: 'I am refunds.',
        description: 'Gives money back',
        tools: '../agents/asking/till.ts',
        tool_policies: { refund: 'preview', burn: 'forbidden' },
        navigates_to: ['triage'],
      },
      human: { operator: true, timeout: '60s' },
      ...members,
    },
  }
}

export async function openSwarmGateway(script: Script, overrides: Record<string, unknown> = {}): Promise<SwarmGateway> {
  const model = await openModelServer(request => script(memberOf(request), lastOf(request), request))
  const web = {
    enabled: true,
    trace: true,
    auth: { tokens: [{ name: 'ann', sha256: hash('sha256', annsToken) }] },
  }
  const agents = { desk: describeSwarm(model.baseUrl) }
  const gateway = await openTestGateway(() => ({ web, agents, default_agent: 'desk', ...overrides }))
  return {
    gateway,
    model,
    async requestOperator<Answer>(path: string, body?: unknown) {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`${gateway.url()}/operator/api${path}`, init)
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as Answer
    },
    async close() {
      await gateway.close()
      await model.close()
    },
  }
}
