// Calls A2A agents by address: finds and verifies their card, sends a message, reads the answer.
import type { FinishedAnswer, FollowTaskDeps } from '@postern/a2a'
import { findCard, followTask, readInterface, readTask, verifyCard } from '@postern/a2a'
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import { issueToken } from '../issuer/vouch.ts'

export type ClientSystem = Pick<System, 'fetch' | 'openStream' | 'now' | 'sleep' | 'log'>

/** An agent whose card was found and verified. */
export interface KnownAgent {
  readonly to: FollowTaskDeps['agentInterface']
  /** The only origin that a link of a policy may lead to. */
  readonly origin: string
  readonly canPush: boolean
}

interface AgentCall extends Pick<FollowTaskDeps, 'configuration' | 'onPartialAnswer'> {
  readonly agent: KnownAgent
  readonly message: object
  /** The id of the task that the call continues. */
  readonly taskId?: string | undefined
}

/** The connection to agents: WebFinger, card, token, message, stream. */
export interface AgentClient {
  /** Finds an agent and verifies its card. @throws Unavailable, Undeliverable */
  findAgent(address: string): Promise<KnownAgent>
  /** @throws Unavailable, Undeliverable */
  sendCall(call: AgentCall): Promise<FinishedAnswer>
  /** Reads the present state of a task; undefined while the agent is still working. @throws Unavailable, Undeliverable */
  readTask(agent: KnownAgent, taskId: string): Promise<FinishedAnswer | undefined>
}

interface LineDeps {
  readonly config: Pick<ConnectorConfig, 'origin'>
  readonly keys: ConnectorKeyRing
  readonly system: ClientSystem
  /** Aborts when the connector closes. */
  readonly closing: AbortSignal
}

const times = { lookupMs: 20_000, callMs: 5 * 60_000, keptMs: 5 * 60_000 } as const
const maxKnown = 500
const maxAnswer = 2 * 1024 * 1024

export function createAgentClient({ config, keys, system, closing }: LineDeps): AgentClient {
  const knownAgents = createExpiringMap<KnownAgent>(maxKnown, system.now)

  async function resolve(address: string, signal: AbortSignal): Promise<KnownAgent> {
    const card = await findCard(address, system, signal)
    // The signer of the card, and the addresses in it, must have the card's own host.
    const isAllowedOrigin = () => false
    await verifyCard(card, { system, isAllowedOrigin }, signal)
    const capabilities = card.document.capabilities as { readonly pushNotifications?: unknown } | undefined
    return {
      to: readInterface(card, isAllowedOrigin),
      origin: new URL(card.url).origin,
      canPush: capabilities?.pushNotifications === true,
    }
  }

  /** Runs work with one time limit for all of it, and aborts it when the program closes. */
  async function within<Value>(ms: number, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(ms)])
    return work(signal).catch(error => {
      throw signal.aborted ? new Unavailable('Cannot call agent: it did not answer in time', { cause: error }) : error
    })
  }

  const lineTo = ({ to }: KnownAgent, signal: AbortSignal): FollowTaskDeps => ({
    agentInterface: to,
    system,
    signal,
    maxBytes: maxAnswer,
    timeoutMs: times.callMs,
    credentials: async () => ({ authorization: `Bearer ${issueToken(to.url, config, keys, system.now())}` }),
  })

  return {
    async findAgent(address) {
      const knownAgent = knownAgents.get(address)
      if (knownAgent) return knownAgent
      const agent = await within(times.lookupMs, signal => resolve(address, signal))
      knownAgents.set(address, agent, times.keptMs)
      return agent
    },
    sendCall: ({ agent, message, taskId, configuration, onPartialAnswer }) =>
      within(times.callMs, signal =>
        followTask(
          message,
          { ...lineTo(agent, signal), configuration, ...(onPartialAnswer && { onPartialAnswer }) },
          taskId,
        ),
      ),
    readTask: (agent, taskId) => within(times.lookupMs, signal => readTask(taskId, lineTo(agent, signal))),
  }
}

export interface Throttle<Value> {
  /** Shows the value after its pause, unless a newer one replaces it. */
  push(value: Value): void
  /** Drops the values that have not been shown. */
  stop(): void
}

/** Shows the newest of the arriving values, at most once every `intervalMs`. */
export function createThrottle<Value>(
  publish: (value: Value) => void,
  { paceMs: intervalMs, system }: { readonly paceMs: number; readonly system: Pick<ClientSystem, 'now' | 'sleep'> },
): Throttle<Value> {
  let waiting: { readonly value: Value } | undefined
  let shownAt = Number.NEGATIVE_INFINITY

  async function showLater(ms: number): Promise<void> {
    await system.sleep(ms)
    if (!waiting) return
    const { value } = waiting
    waiting = undefined
    shownAt = system.now()
    publish(value)
  }

  return {
    push(value) {
      const isAwaited = waiting !== undefined
      waiting = { value }
      if (!isAwaited) void showLater(Math.max(0, shownAt + intervalMs - system.now()))
    },
    stop() {
      waiting = undefined
    },
  }
}
