import type { FinishedAnswer, FollowTaskDeps } from '@postern/a2a'
import { findCard, followTask, readInterface, readTask, verifyCard } from '@postern/a2a'
import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import { issueToken } from '../issuer/vouch.ts'

export type LinePlatform = Pick<Platform, 'fetch' | 'openStream' | 'now' | 'sleep' | 'log'>

/** An agent whose card was found and verified. */
export interface KnownAgent {
  readonly to: FollowTaskDeps['to']
  /** Only there a link of a policy may lead. */
  readonly origin: string
  readonly canPush: boolean
}

interface AgentCall extends Pick<FollowTaskDeps, 'configuration' | 'onWords'> {
  readonly agent: KnownAgent
  readonly message: object
  /** Of the task it goes on with. */
  readonly taskId?: string | undefined
}

/** Our way to agents: WebFinger, card, token, message, stream. */
export interface AgentLine {
  /** @throws Unavailable, Undeliverable */
  look(address: string): Promise<KnownAgent>
  /** @throws Unavailable, Undeliverable */
  call(call: AgentCall): Promise<FinishedAnswer>
  /** How a task stands now; undefined while the agent is at work. @throws Unavailable, Undeliverable */
  read(agent: KnownAgent, taskId: string): Promise<FinishedAnswer | undefined>
}

interface LineDeps {
  readonly config: Pick<ConnectorConfig, 'origin'>
  readonly keys: ConnectorKeyRing
  readonly platform: LinePlatform
  /** Aborts when we close. */
  readonly closing: AbortSignal
}

const times = { lookMs: 20_000, callMs: 5 * 60_000, keptMs: 5 * 60_000 } as const
const maxKnown = 500
const maxAnswer = 2 * 1024 * 1024

export function createAgentLine({ config, keys, platform, closing }: LineDeps): AgentLine {
  const known = createExpiringMap<KnownAgent>(maxKnown, platform.now)

  async function resolve(address: string, signal: AbortSignal): Promise<KnownAgent> {
    const found = await findCard(address, platform, signal)
    // Everything has to be where the card is: what it signs, and what it leads to.
    const isAllowedOrigin = () => false
    await verifyCard(found, { platform, isAllowedOrigin }, signal)
    const capabilities = found.document.capabilities as { readonly pushNotifications?: unknown } | undefined
    return {
      to: readInterface(found, isAllowedOrigin),
      origin: new URL(found.url).origin,
      canPush: capabilities?.pushNotifications === true,
    }
  }

  /** One end for the whole of it, and none that outlives us. */
  async function within<Value>(ms: number, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const signal = AbortSignal.any([closing, AbortSignal.timeout(ms)])
    return work(signal).catch(error => {
      throw signal.aborted ? new Unavailable('Cannot call agent: it did not answer in time', { cause: error }) : error
    })
  }

  const lineTo = ({ to }: KnownAgent, signal: AbortSignal): FollowTaskDeps => ({
    to,
    platform,
    signal,
    maxBytes: maxAnswer,
    timeoutMs: times.callMs,
    credentials: async () => ({ authorization: `Bearer ${issueToken(to.url, config, keys, platform.now())}` }),
  })

  return {
    async look(address) {
      const before = known.get(address)
      if (before) return before
      const agent = await within(times.lookMs, signal => resolve(address, signal))
      known.set(address, agent, times.keptMs)
      return agent
    },
    call: ({ agent, message, taskId, configuration, onWords }) =>
      within(times.callMs, signal =>
        followTask(message, { ...lineTo(agent, signal), configuration, ...(onWords && { onWords }) }, taskId),
      ),
    read: (agent, taskId) => within(times.lookMs, signal => readTask(taskId, lineTo(agent, signal))),
  }
}

export interface Pace<Value> {
  /** Shown in its time, unless something newer takes its place. */
  push(value: Value): void
  /** What has not been shown is not shown any more. */
  stop(): void
}

/** Shows the newest of what comes, but not more often than every `paceMs`. */
export function createPace<Value>(
  show: (value: Value) => void,
  { paceMs, platform }: { readonly paceMs: number; readonly platform: Pick<LinePlatform, 'now' | 'sleep'> },
): Pace<Value> {
  let waiting: { readonly value: Value } | undefined
  let shownAt = Number.NEGATIVE_INFINITY

  async function showLater(ms: number): Promise<void> {
    await platform.sleep(ms)
    if (!waiting) return
    const { value } = waiting
    waiting = undefined
    shownAt = platform.now()
    show(value)
  }

  return {
    push(value) {
      const isAwaited = waiting !== undefined
      waiting = { value }
      if (!isAwaited) void showLater(Math.max(0, shownAt + paceMs - platform.now()))
    },
    stop() {
      waiting = undefined
    },
  }
}
