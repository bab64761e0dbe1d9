// Opens a gateway whose agents ask operators before refunds.
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BaseEvent } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import type { PendingAction } from '@postern/transcript'
import { operatorToken } from './gateway.ts'
import type { SwarmGateway } from './swarm-gateway.ts'
import { annsToken, call, describeSwarm, openSwarmGateway, replyWith } from './swarm-gateway.ts'
import { withoutWarnings } from './web-gateway.ts'

/** The mailbox that is notified of everything that waits for an operator. */
export const eve = 'eve@alice.test'
export const evesToken = 'token-of-eve-for-the-tests'

export const tillAgents = ['shop', 'desk'] as const
type TillAgent = (typeof tillAgents)[number]

export interface WaitingRequirement {
  readonly id: string
  readonly agent: string
  readonly approver: string
  readonly state: string
  readonly address: string
  readonly policy: object
  readonly expires_at: string
  readonly resolver?: object
  readonly call?: { readonly tool_call_id: string; readonly arguments: unknown; readonly summary: string }
}

export interface OperatorGateway {
  readonly swarm: SwarmGateway
  /** Returns the lines that the till has recorded since the last call. */
  readNewTillLines(): readonly string[]
  /** Asks for a refund from the fediverse. Returns the requirement that then waits for an operator. */
  askForRefund(agent: TillAgent, visibility?: 'direct' | 'public', order?: string): Promise<PendingRefund>
  findWaiting(agent: TillAgent): Promise<WaitingRequirement>
  /** Decides a requirement as the operator, through the API. */
  decide(
    id: string,
    body: object,
  ): Promise<{ readonly status: number; readonly body: WaitingRequirement & { detail?: string } }>
  /** Returns the answers to a post, as the fediverse received them. */
  answersTo(objectId: string): readonly string[]
  readAction(agent: TillAgent): Promise<PendingAction>
  close(): Promise<void>
}

export interface PendingRefund {
  readonly objectId: string
  readonly senderText: string
  readonly requirement: WaitingRequirement
}

const tool_policies = { refund: { policy: 'preview', approve: 'operator', notify: eve } }
const tools = { tools: '../agents/asking/till.ts', tool_policies }

/** Describes the single model, as its gateway has it. */
export function describeShop({ swarm }: Pick<OperatorGateway, 'swarm'>): Record<string, unknown> {
  return { use: 'openai', base_url: swarm.model.baseUrl, model: 'test-model', prompt: 'I am shop.', ...tools }
}

interface OperatorGatewayOptions {
  /** The origins of pages that may call the chat. */
  readonly origins?: readonly string[]
  /** Further settings of the gateway. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Returns further agents, which may be like the single model. */
  agents?(shop: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
}

/** Opens a gateway with a swarm (`desk`) and a single model (`shop`), each with a till whose refunds wait for an operator. */
export async function openOperatorGateway({
  origins = [],
  settings = {},
  agents = () => ({}),
}: OperatorGatewayOptions = {}): Promise<OperatorGateway> {
  const tillFile = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
  process.env.TILL = tillFile
  const swarm = await openSwarmGateway(
    (memberName, lastText, { body }) => {
      // Braces would look like the arguments of a call.
      if (body.messages.at(-1)?.role === 'tool') return replyWith(`The till says ${lastText.replace(/[{}"]/g, '')}`)
      if (memberName === 'triage')
        return call(lastText.includes('somebody') ? 'navigate_to_human' : 'navigate_to_refunds', {})
      const [, order = '17'] = /order (\w+)/.exec(lastText) ?? []
      return lastText.includes('please') ? call('refund', { order }) : replyWith('How can I help?')
    },
    { email: { listen: { port: 0, protocol: 'smtp' }, write_to: [eve] }, ...settings },
  )
  const { baseUrl } = swarm.model
  const refunds = { prompt: 'I am refunds.', ...tools, navigates_to: ['triage'] }
  const token = (name: string, text: string) => ({ name, sha256: hash('sha256', text) })
  await swarm.gateway.restart({
    agents: {
      desk: describeSwarm(baseUrl, { refunds }),
      shop: describeShop({ swarm }),
      ...agents(describeShop({ swarm })),
    },
    web: {
      origins,
      enabled: true,
      trace: true,
      auth: { tokens: [token('ann', annsToken), token('eve', evesToken)] },
      operators: [{ token: 'eve' }],
    },
  })
  let readLineCount = 0

  async function findWaiting(agent: TillAgent): Promise<WaitingRequirement> {
    const { items: requirements } = await swarm.requestOperator<{ items: readonly WaitingRequirement[] }>(
      '/requirements?state=open&approver=operator',
    )
    const requirement = requirements.find(record => record.agent === agent)
    if (!requirement) throw new Error('nothing waits')
    return swarm.requestOperator<WaitingRequirement>(`/requirements/${requirement.id}`)
  }

  return {
    swarm,
    findWaiting,
    readNewTillLines() {
      const tillLines = readLines(tillFile)
      const newLines = tillLines.slice(readLineCount)
      readLineCount = tillLines.length
      return newLines
    },
    async askForRefund(agent, visibility = 'direct', order = '17') {
      const { fediverse } = swarm.gateway.simulation
      const text = `My money back for order ${order}, please`
      const { objectId } = await fediverse.deliver({ to: `@${agent}@agents.test`, text, visibility: visibility })
      const { activity } = await fediverse.awaitReply(objectId, 30_000)
      return { objectId, senderText: JSON.stringify(activity), requirement: await findWaiting(agent) }
    },
    async decide(id, body) {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await fetch(`${swarm.gateway.url()}/operator/api/requirements/${id}`, init)
      return { status: response.status, body: (await response.json()) as WaitingRequirement & { detail?: string } }
    },
    answersTo(objectId) {
      return swarm.gateway.simulation.fediverse.received.flatMap(({ activity: { object } }) => {
        const note = object as { inReplyTo?: string } | undefined
        return note?.inReplyTo === objectId ? [JSON.stringify(note)] : []
      })
    },
    async readAction(agent) {
      const { records } = swarm.gateway.gateway().store as unknown as {
        readonly records: { list(kind: string, owner: string): Promise<readonly { readonly value: PendingAction }[]> }
      }
      const [newest] = await records.list('pending-action', `agent:${agent}`)
      if (!newest) throw new Error('there is no action')
      return newest.value
    },
    async close() {
      process.env.TILL = ''
      await swarm.close()
    },
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}

let count = 0
export const newName = (label: string) => `${label}-${++count}`

interface Resume {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: unknown
}

/** Opens a chat with the real client, which rejects a stream that breaks a rule. */
export function openChat(url: string, token: string, threadId = newName('thread')): HttpAgent {
  return new HttpAgent({ url, headers: { authorization: `Bearer ${token}` }, threadId })
}

/** Runs the chat once. Returns all events of the run, and checks the client's view of them. */
export async function runChat(chat: HttpAgent, resume: readonly Resume[] = []): Promise<readonly BaseEvent[]> {
  const events: BaseEvent[] = []
  await withoutWarnings(() =>
    chat.runAgent(
      { runId: newName('run'), ...(resume.length > 0 && { resume: [...resume] as never }) },
      {
        onEvent: ({ event }) => void events.push(event),
        onRunFailed: ({ error }) => {
          throw error
        },
      },
    ),
  )
  return events
}

export const findEvents = (events: readonly BaseEvent[], type: string) => events.filter(event => event.type === type)

export interface Interrupted {
  readonly type: string
  readonly interrupts?: readonly { readonly id: string; readonly [member: string]: unknown }[]
}

/** Returns the outcome of a run, or the type of its last event. */
export function outcomeOf(events: readonly BaseEvent[]): Interrupted {
  const { type, outcome } = events.at(-1) as unknown as { readonly type: string; readonly outcome?: Interrupted }
  return outcome ?? { type }
}
