import type { JsonMap, SwarmImage } from '@postern/transcript'
import { createAnswerStream } from '../answers/stream.ts'
import type { BusEvent } from '../bus/bus.ts'
import type { TellEvent } from '../bus/tell-event.ts'
import type { SwarmCommitDeps } from '../conversation/commits.ts'
import { createSwarmCommits } from '../conversation/commits.ts'
import type { AllCommits } from '../conversation/forced-commits.ts'
import { addForcedCommits } from '../conversation/forced-commits.ts'
import type { SwarmHistory } from '../conversation/history.ts'
import type { SwarmNavigation } from '../conversation/navigation.ts'
import type { SwarmData } from '../data/data.ts'
import { openSwarmData } from '../data/data.ts'
import type { AgentSpec } from '../spec/agent.ts'
import type { SwarmDeps, SwarmSpec } from '../spec/swarm.ts'
import { swarmTexts } from '../spec/texts.ts'
import type { TurnDeps } from '../turn/turn.ts'
import { findActiveAgent } from '../turn/turn.ts'
import type { SwarmBans } from './bans.ts'
import { createSwarmBans } from './bans.ts'
import type { SwarmClientState } from './state.ts'
import { openSwarmClientState } from './state.ts'
import { createClientTurns } from './turns.ts'

export interface SwarmMessageOptions {
  /** What is known of the message beside its words; kept with it. */
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly SwarmImage[] | undefined
  /** Somebody else writes what is said and answered into the thread (the store): here only calls, results and hand-overs are. */
  readonly isStored?: boolean | undefined
  /**
   * Told what is plainly sound of the answer while it is made, in order; the answer begins with it. Nothing where a policy looks at what is
   * said, or the model tells no pieces.
   */
  readonly hear?: ((words: string) => void) | undefined
}

export interface OutgoingMessage {
  readonly clientId: string
  readonly data: string
  readonly agentName: string
}

export type ReceiveMessage = (message: OutgoingMessage) => Promise<void> | void

/** One client of a swarm: its conversation, whoever of the agents speaks. */
export interface SwarmClient {
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  readonly commits: AllCommits
  readonly bans: SwarmBans
  readonly data: SwarmData
  /** Whether an answer is being made. */
  readonly isBusy: boolean
  /** What a user says; the answer. One after the other for one client. '' when the answer was cancelled. @throws what a model throws */
  complete(message: string, options?: SwarmMessageOptions): Promise<string>
  /** The same in tool mode: not what a user said. */
  execute(message: string): Promise<string>
  /** An answer that leaves no row and knows none. */
  runStateless(message: string): Promise<string>
  /** Words to the client without a question. */
  emit(content: string): Promise<void>
  /** Words to who is connected, and no row: no model will know of them. */
  notify(content: string): Promise<void>
  /** Gives up the answer that is being made; what comes of it later reaches nobody. */
  cancelOutput(): Promise<void>
  getAgentName(): string
  getAgent(): AgentSpec
  /** Told of every output: answers, refusals, and what is emitted and notified. What it returns ends that. */
  connect(receive: ReceiveMessage): () => void
}

/** Opens a client of a swarm where it was left: active agent, stack and history are there again. */
export async function openSwarmClient(spec: SwarmSpec, deps: SwarmDeps, clientId: string): Promise<SwarmClient> {
  return createSwarmClient(spec, deps, await openSwarmClientState(spec, deps, clientId))
}

/** A client over its state; others over the same state share its conversation, and wait for its turns. */
export function createSwarmClient(spec: SwarmSpec, deps: SwarmDeps, state: SwarmClientState): SwarmClient {
  const { bus, platform } = deps
  const { swarmName, policies = [] } = spec
  const { clientId, history, navigation, calls } = state
  const activeAgent = () => navigation.active
  const bans = createSwarmBans(swarmName, policies, { ...deps, activeAgent })
  const data = openSwarmData(spec, { ...deps, swarmName, clientId, activeAgent })
  const stopCalls = () => {
    calls.areStopped = true
  }
  const committing: SwarmCommitDeps = { history, bus, platform, swarmName, clientId, activeAgent }
  const commits = createSwarmCommits(committing)
  const outer = createSwarmCommits({
    ...committing,
    isOfSession: true,
    effects: {
      'commit-stop-tools': stopCalls,
      'commit-agent-change': stopCalls,
      'commit-cancel-output': cancel,
    },
  })
  const texts = { ...swarmTexts, ...spec.texts }
  const turn: TurnDeps = { spec, deps, clientId, history, navigation, commits, outer, data, texts, calls }
  // What somebody may yet refuse is told when it is whole.
  const mayBeHeard = !policies.some(({ validateOutput }) => validateOutput)

  const tell: TellEvent = (source, type, told = {}) =>
    bus.emit({ type, source, clientId, context: { agentName: navigation.active, swarmName }, ...told })

  function cancel(): void {
    state.life?.abort()
    tell('swarm-bus', 'cancel-output')
  }

  const turns = createClientTurns({ turn, state, bans, tell })
  return {
    clientId,
    history,
    navigation,
    commits: addForcedCommits(outer, activeAgent),
    bans,
    data,
    get isBusy() {
      return state.life !== undefined
    },
    complete(message, { hear, ...options } = {}) {
      const answerStream = hear && mayBeHeard ? createAnswerStream(hear) : undefined
      return state.queue(() => turns.run({ ...options, message, mode: 'user', answerStream }))
    },
    execute: message => state.queue(() => turns.run({ message, mode: 'tool' })),
    async runStateless(message) {
      const refusal = await bans.findRefusal(clientId)
      if (refusal !== undefined) return refusal
      const { agentName, prompt, model } = findActiveAgent(turn)
      const system = { role: 'system', agentName, content: prompt, mode: 'tool' } as const
      const user = { role: 'user', agentName, content: message, mode: 'user' } as const
      const { content: result } = await (model.run?.([system, user]) ?? model.complete([system, user], []))
      for (const source of ['agent-bus', 'session-bus'] as const) {
        tell(source, 'run', { input: { message }, output: { result } })
      }
      return result
    },
    async emit(message) {
      await turns.giveOutput('tool', message)
      tell('session-bus', 'emit', { input: { message } })
    },
    async notify(content) {
      const message = (await bans.checkMessage('output', content, clientId)) ?? content
      tell('session-bus', 'notify', { input: { message } })
    },
    async cancelOutput() {
      await outer.commitCancelOutput({ agentName: navigation.active })
    },
    getAgentName() {
      tell('swarm-bus', 'get-agent-name', { output: { activeAgent: navigation.active } })
      return navigation.active
    },
    getAgent() {
      tell('swarm-bus', 'get-agent', { output: { agentName: navigation.active } })
      return findActiveAgent(turn)
    },
    connect(receive) {
      tell('session-bus', 'connect')
      return bus.listen(
        async event => {
          await receive({ clientId, data: readOutput(event), agentName: event.context.agentName ?? '' })
        },
        { clientId, filter: isOutput },
      )
    },
  }
}

function isOutput({ source, type }: BusEvent): boolean {
  return (source === 'agent-bus' && type === 'emit-output') || (source === 'session-bus' && type === 'notify')
}

function readOutput({ type, input, output }: BusEvent): string {
  return String(type === 'notify' ? input.message : output.result)
}
