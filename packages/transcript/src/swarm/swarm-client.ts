import type { JsonMap } from '../json-difference.ts'
import { createAnswerStream } from './answer-stream.ts'
import { createClientTurns } from './client-turns.ts'
import type { AllCommits } from './forced-commits.ts'
import { addForcedCommits } from './forced-commits.ts'
import type { SwarmBans } from './swarm-ban.ts'
import { createSwarmBans } from './swarm-ban.ts'
import type { BusEvent, BusSource } from './swarm-bus.ts'
import type { SwarmClientState } from './swarm-client-state.ts'
import { openSwarmClientState } from './swarm-client-state.ts'
import type { CommitDeps } from './swarm-commits.ts'
import { createSwarmCommits } from './swarm-commits.ts'
import type { SwarmData } from './swarm-data.ts'
import { openSwarmData } from './swarm-data.ts'
import type { SwarmHistory } from './swarm-history.ts'
import type { SwarmImage } from './swarm-message.ts'
import type { SwarmNavigation } from './swarm-navigation.ts'
import type { AgentSpec, SwarmDeps, SwarmSpec } from './swarm-spec.ts'
import { swarmTexts } from './swarm-spec.ts'
import type { TurnDeps } from './swarm-turn.ts'
import { findActiveAgent } from './swarm-turn.ts'

export interface MessageOptions {
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
  complete(message: string, options?: MessageOptions): Promise<string>
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

/** Tells of a client, in the name of whoever is active. */
export type TellEvent = (source: BusSource, type: string, told?: Partial<Pick<BusEvent, 'input' | 'output'>>) => void

/** Opens a client of a swarm where it was left: active agent, stack and history are there again. */
export async function openSwarmClient(spec: SwarmSpec, deps: SwarmDeps, clientId: string): Promise<SwarmClient> {
  return createSwarmClient(spec, deps, await openSwarmClientState(spec, deps, clientId))
}

/** A client in its room; others in the same room share its conversation, and wait for its turns. */
export function createSwarmClient(spec: SwarmSpec, deps: SwarmDeps, room: SwarmClientState): SwarmClient {
  const { bus, platform } = deps
  const { swarmName, policies = [] } = spec
  const { clientId, history, navigation, calls } = room
  const activeAgent = () => navigation.active
  const bans = createSwarmBans(swarmName, policies, { ...deps, activeAgent })
  const data = openSwarmData(spec, { ...deps, swarmName, clientId, activeAgent })
  const stopCalls = () => {
    calls.areStopped = true
  }
  const committing: CommitDeps = { history, bus, platform, swarmName, clientId, activeAgent }
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
    room.life?.abort()
    tell('swarm-bus', 'cancel-output')
  }

  const turns = createClientTurns({ turn, room, bans, tell })
  return {
    clientId,
    history,
    navigation,
    commits: addForcedCommits(outer, activeAgent),
    bans,
    data,
    get isBusy() {
      return room.life !== undefined
    },
    complete(message, { hear, ...options } = {}) {
      const answerStream = hear && mayBeHeard ? createAnswerStream(hear) : undefined
      return room.queue(() => turns.run({ ...options, message, mode: 'user', answerStream }))
    },
    execute: message => room.queue(() => turns.run({ message, mode: 'tool' })),
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
