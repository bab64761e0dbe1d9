// Opens a client of a swarm, which is one conversation with all its agents.
import type { JsonMap, SwarmImage } from '@postern/transcript'
import { createAnswerStream } from '../answers/stream.ts'
import type { BusEvent, EmitBusEvent } from '../bus/bus.ts'
import type { AllCommits, SwarmCommitDeps } from '../conversation/commits.ts'
import { createAllCommits, createSwarmCommits } from '../conversation/commits.ts'
import type { SwarmHistory } from '../conversation/history.ts'
import type { SwarmNavigation } from '../conversation/navigation.ts'
import type { SwarmData } from '../data/swarm-data.ts'
import { openSwarmData } from '../data/swarm-data.ts'
import type { AgentSpec, SwarmDeps, SwarmSpec } from '../spec/swarm.ts'
import { swarmTexts } from '../spec/swarm.ts'
import type { TurnDeps } from '../turn/run-turn.ts'
import { findActiveAgent } from '../turn/run-turn.ts'
import type { SwarmBans, SwarmClientState } from './client-state.ts'
import { createSwarmBans, openSwarmClientState } from './client-state.ts'
import type { ClientTurns } from './turns.ts'
import { createClientTurns } from './turns.ts'

export interface SwarmMessageOptions {
  /** Facts that the caller knows about the message. They are stored with it. */
  readonly payload?: JsonMap | null | undefined
  readonly images?: readonly SwarmImage[] | undefined
  /** True if the store writes messages and answers into the thread, so that the swarm writes only calls, results and hand-overs. */
  readonly isStored?: boolean | undefined
  /**
   * Receives the safe text of the answer in order while the model writes it. It receives nothing if a policy checks output, or if the model does
   * not stream.
   */
  readonly onText?: ((text: string) => void) | undefined
}

export interface OutgoingMessage {
  readonly clientId: string
  readonly data: string
  readonly agentName: string
}

export type ReceiveMessage = (message: OutgoingMessage) => Promise<void> | void

/** One client of a swarm, which is one conversation with all its agents. */
export interface SwarmClient {
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  readonly commits: AllCommits
  readonly bans: SwarmBans
  readonly data: SwarmData
  /** True while a turn runs. */
  readonly isBusy: boolean
  /** Answers a user's message. A client's messages run one after the other. Returns '' after a cancel. @throws the model's error */
  complete(message: string, options?: SwarmMessageOptions): Promise<string>
  /** Answers in tool mode, for text that is not the user's. */
  execute(message: string): Promise<string>
  /** Returns an answer that uses no history and is not stored. */
  runStateless(message: string): Promise<string>
  /** Sends a message to the client without a question. */
  emit(content: string): Promise<void>
  /** Sends a message only to connected receivers. It is not stored, so no model sees it. */
  notify(content: string): Promise<void>
  /** Cancels the running answer. Its later output reaches nobody. */
  cancelOutput(): Promise<void>
  getAgentName(): string
  getAgent(): AgentSpec
  /** Passes every output to `receive`, which includes answers, refusals and messages. @returns the function that ends the connection */
  connect(receive: ReceiveMessage): () => void
}

/** Opens a client with its active agent, stack and history. */
export async function openSwarmClient(spec: SwarmSpec, deps: SwarmDeps, clientId: string): Promise<SwarmClient> {
  return createSwarmClient(spec, deps, await openSwarmClientState(spec, deps, clientId))
}

interface OpenClient {
  readonly clientId: string
  readonly turn: TurnDeps
  readonly turns: ClientTurns
  readonly bans: SwarmBans
  readonly emit: EmitBusEvent
  /** Commits from outside of the agents. */
  readonly outerCommits: AllCommits
}

/** Creates a client over its state. Clients over one state share the conversation and wait for each other's turns. */
export function createSwarmClient(spec: SwarmSpec, deps: SwarmDeps, state: SwarmClientState): SwarmClient {
  const { clientId, history, navigation } = state
  const openedClient = openClient(spec, deps, state)
  const { turn, turns, bans, emit, outerCommits: allCommits } = openedClient
  const isStreaming = canStream(spec)
  return {
    clientId,
    history,
    navigation,
    commits: allCommits,
    bans,
    data: turn.data,
    get isBusy() {
      return state.answerAbort !== undefined
    },
    complete(message, { onText, ...options } = {}) {
      const answerStream = onText && isStreaming ? createAnswerStream(onText) : undefined
      return state.runInTurn(() => turns.run({ ...options, message, mode: 'user', answerStream }))
    },
    execute: message => state.runInTurn(() => turns.run({ message, mode: 'tool' })),
    runStateless: message => runStateless(message, openedClient),
    async emit(message) {
      await turns.sendOutput('tool', message)
      emit('session-bus', 'emit', { input: { message } })
    },
    async notify(content) {
      const message = (await bans.checkMessage('output', content, clientId)) ?? content
      emit('session-bus', 'notify', { input: { message } })
    },
    async cancelOutput() {
      await turn.outerCommits.commitCancelOutput({ agentName: navigation.active })
    },
    getAgentName() {
      emit('swarm-bus', 'get-agent-name', { output: { activeAgent: navigation.active } })
      return navigation.active
    },
    getAgent() {
      emit('swarm-bus', 'get-agent', { output: { agentName: navigation.active } })
      return findActiveAgent(turn)
    },
    connect: receive => connect(receive, openedClient),
  }
}

/** Returns true if output may be sent before it is complete. A policy that may refuse output prevents this. */
function canStream({ policies = [] }: SwarmSpec): boolean {
  return !policies.some(({ validateOutput }) => validateOutput)
}

function openClient(spec: SwarmSpec, deps: SwarmDeps, state: SwarmClientState): OpenClient {
  const { bus, system } = deps
  const { swarmName, policies = [] } = spec
  const { clientId, history, navigation, calls } = state
  const activeAgent = () => navigation.active
  const emit: EmitBusEvent = (source, type, details = {}) =>
    bus.emit({ type, source, clientId, context: { agentName: navigation.active, swarmName }, ...details })
  const stopCalls = () => {
    calls.areStopped = true
  }
  const cancel = () => {
    state.answerAbort?.abort()
    emit('swarm-bus', 'cancel-output')
  }
  const commitDeps: SwarmCommitDeps = { history, bus, system, swarmName, clientId, activeAgent }
  const commits = createSwarmCommits(commitDeps)
  const effects = {
    'commit-stop-tools': stopCalls,
    'commit-agent-change': stopCalls,
    'commit-cancel-output': cancel,
  }
  const allCommits = createAllCommits({ ...commitDeps, isOfSession: true, effects })
  const bans = createSwarmBans(swarmName, policies, { ...deps, activeAgent })
  const data = openSwarmData(spec, { ...deps, swarmName, clientId, activeAgent })
  const texts = { ...swarmTexts, ...spec.texts }
  const turn: TurnDeps = {
    spec,
    deps,
    clientId,
    history,
    navigation,
    commits,
    outerCommits: allCommits,
    data,
    texts,
    calls,
  }
  return {
    clientId,
    turn,
    turns: createClientTurns({ turn, state, bans, emit }),
    bans,
    emit,
    outerCommits: allCommits,
  }
}

async function runStateless(message: string, { clientId, turn, bans, emit }: OpenClient): Promise<string> {
  const refusal = await bans.findRefusal(clientId)
  if (refusal !== undefined) return refusal
  const { agentName, prompt, model } = findActiveAgent(turn)
  const system = { role: 'system', agentName, content: prompt, mode: 'tool' } as const
  const user = { role: 'user', agentName, content: message, mode: 'user' } as const
  const { content: result } = await (model.run?.([system, user]) ?? model.complete([system, user], []))
  for (const source of ['agent-bus', 'session-bus'] as const) {
    emit(source, 'run', { input: { message }, output: { result } })
  }
  return result
}

function connect(receive: ReceiveMessage, { clientId, turn, emit }: OpenClient): () => void {
  emit('session-bus', 'connect')
  return turn.deps.bus.listen(
    async event => {
      await receive({ clientId, data: readOutput(event), agentName: event.context.agentName ?? '' })
    },
    { clientId, filter: isOutput },
  )
}

function isOutput({ source, type }: BusEvent): boolean {
  return (source === 'agent-bus' && type === 'emit-output') || (source === 'session-bus' && type === 'notify')
}

function readOutput({ type, input, output }: BusEvent): string {
  return String(type === 'notify' ? input.message : output.result)
}
