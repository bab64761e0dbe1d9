import type { JsonMap } from '../json-difference.ts'
import { createSwarmBans, type SwarmBans } from './swarm-ban.ts'
import { createSwarmCommits, type SwarmCommits } from './swarm-commits.ts'
import { openSwarmHistory, type SwarmHistory } from './swarm-history.ts'
import { openNavigation, type SwarmNavigation } from './swarm-navigation.ts'
import { type SwarmDeps, type SwarmSpec, swarmTexts } from './swarm-spec.ts'
import { findActiveAgent, runSwarmTurn, type TurnDeps, type TurnRequest } from './swarm-turn.ts'

export interface MessageOptions {
  /** What is known of the message beside its words; kept with it. */
  readonly payload?: JsonMap | null | undefined
  /** base64 */
  readonly images?: readonly string[] | undefined
  /** Somebody else writes what is said and answered into the thread (the desk): here only calls, results and hand-overs are. */
  readonly isStored?: boolean | undefined
}

/** One client of a swarm: its conversation, whoever of the agents speaks. */
export interface SwarmClient {
  readonly clientId: string
  readonly history: SwarmHistory
  readonly navigation: SwarmNavigation
  readonly commits: SwarmCommits
  readonly bans: SwarmBans
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
  /** Gives up the answer that is being made; what comes of it later reaches nobody. */
  cancelOutput(): Promise<void>
  /** Told of every output: answers, and what is emitted. What it returns ends that. */
  connect(
    send: (message: {
      readonly clientId: string
      readonly data: string
      readonly agentName: string
    }) => Promise<void> | void,
  ): () => void
}

/** Opens a client of a swarm where it was left: active agent, stack and history are there again. */
export async function openSwarmClient(spec: SwarmSpec, deps: SwarmDeps, clientId: string): Promise<SwarmClient> {
  const { bus } = deps
  const { swarmName } = spec
  const texts = { ...swarmTexts, ...spec.texts }
  const history = await openSwarmHistory(deps, swarmName, clientId)
  const navigation = await openNavigation(spec, deps, clientId)
  const bans = createSwarmBans(swarmName, spec.policies ?? [], deps)
  const activeAgent = () => navigation.active
  const commits = createSwarmCommits({ history, bus, world: deps.world, swarmName, clientId, activeAgent })
  const turn: TurnDeps = { spec, deps, clientId, history, navigation, commits, texts }
  let last: Promise<unknown> = Promise.resolve()
  let life: AbortController | undefined
  const contextOf = () => ({ agentName: navigation.active, swarmName })

  function tell(
    source: 'session-bus' | 'execution-bus' | 'agent-bus',
    type: string,
    input: JsonMap = {},
    output: JsonMap = {},
  ): void {
    bus.emit({ type, source, clientId, input, output, context: contextOf() })
  }

  async function giveOutput(mode: string, rawResult: string, isStored = false): Promise<string> {
    const result = (await bans.checkMessage('output', rawResult, clientId)) ?? rawResult
    await commits.commitAssistantMessage(result, { agentName: navigation.active, isStored })
    tell('agent-bus', 'emit-output', { mode, rawResult }, { result })
    return result
  }

  async function answer(request: TurnRequest, own: AbortController): Promise<string> {
    const rawResult = await runSwarmTurn(turn, request, own.signal)
    return rawResult === undefined || own.signal.aborted
      ? ''
      : await giveOutput(request.mode, rawResult, request.isStored)
  }

  async function runTurn(request: TurnRequest): Promise<string> {
    const refusal = (await bans.findRefusal(clientId)) ?? (await bans.checkMessage('input', request.message, clientId))
    if (refusal !== undefined) return refusal
    if (request.mode === 'user') await navigation.beginTurn()
    const own = new AbortController()
    const ended = new Promise<string>(resolve => own.signal.addEventListener('abort', () => resolve('')))
    life = own
    tell('session-bus', 'execute', { message: request.message, mode: request.mode })
    tell('execution-bus', 'commit-execution-begin')
    try {
      return await Promise.race([answer(request, own), ended])
    } finally {
      own.abort()
      life = undefined
      tell('execution-bus', 'commit-execution-end')
    }
  }

  /** One after the other; a failed turn does not hold up the next. */
  function queueTurn(request: TurnRequest): Promise<string> {
    const run = last.then(() => runTurn(request))
    last = run.catch(() => {})
    return run
  }

  tell('session-bus', 'connect')
  return {
    clientId,
    history,
    navigation,
    commits,
    bans,
    get isBusy() {
      return life !== undefined
    },
    complete: (message, options = {}) => queueTurn({ ...options, message, mode: 'user' }),
    execute: message => queueTurn({ message, mode: 'tool' }),
    async runStateless(message) {
      const refusal = await bans.findRefusal(clientId)
      if (refusal !== undefined) return refusal
      const { agentName, prompt, model } = findActiveAgent(turn)
      const system = { role: 'system', agentName, content: prompt, mode: 'tool' } as const
      const { content } = await model.complete(
        [system, { role: 'user', agentName, content: message, mode: 'user' }],
        [],
      )
      tell('agent-bus', 'run', { message }, { result: content })
      return content
    },
    async emit(content) {
      tell('session-bus', 'emit', { content })
      await giveOutput('tool', content)
    },
    async cancelOutput() {
      const own = life
      await commits.commitCancelOutput({ agentName: navigation.active })
      own?.abort()
    },
    connect(send) {
      const options = { clientId, source: 'agent-bus', filter: ({ type }: { type: string }) => type === 'emit-output' }
      return bus.listen(async ({ output, context }) => {
        await send({ clientId, data: String(output.result), agentName: context.agentName ?? '' })
      }, options)
    },
  }
}
