// Opens sessions, connections and scopes for the clients of a swarm.
import { Rejection } from '@postern/message'
import type { ReceiveMessage, SwarmClient, SwarmMessageOptions } from './client/client.ts'
import { createSwarmClient } from './client/client.ts'
import type { SwarmClientState } from './client/client-state.ts'
import { openSwarmClientState } from './client/client-state.ts'
import type { SwarmClients } from './client/clients.ts'
import { createSwarmClients } from './client/clients.ts'
import type { AgentSpec, SwarmDeps, SwarmSpec } from './spec/swarm.ts'

type SessionMessageOptions = Pick<SwarmMessageOptions, 'payload' | 'images' | 'onText'>

interface SwarmSession {
  /** Answers a user's message. Returns '' after `dispose`. */
  complete(message: string, options?: SessionMessageOptions): Promise<string>
  dispose(): Promise<void>
}

interface SwarmConnection {
  /** Sends the answer to the receiver, and resolves after that. */
  send(message: string, options?: SessionMessageOptions): Promise<void>
  dispose(): Promise<void>
}

interface ForkOptions {
  readonly clientId: string
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The parts of a swarm that a scope replaces. The names of its agents stay the same. */
type ScopeOptions = Partial<
  Pick<
    SwarmSpec,
    'agents' | 'policies' | 'commonPrompts' | 'texts' | 'answerChecks' | 'states' | 'storages' | 'computes'
  >
>

/**
 * A swarm and its clients. A client is open as long as it has users, and all its turns run one after the other. An action on behalf of an
 * agent (`agentName`) is skipped if that agent is no longer active.
 */
interface Swarm {
  /** Opens a client with its stored state. */
  open(clientId: string): Promise<SwarmClient>
  /** Drops a client's state in memory and cancels its answer. Stored data stays. */
  dispose(clientId: string): Promise<void>
  session(clientId: string): Promise<SwarmSession>
  makeConnection(receive: ReceiveMessage, clientId: string): Promise<SwarmConnection>
  /** Answers in tool mode. Returns '' if the action was skipped. */
  execute(content: string, clientId: string, agentName: string): Promise<string>
  executeForce(content: string, clientId: string): Promise<string>
  /** Answers without a history. Returns '' if the action was skipped. */
  runStateless(content: string, clientId: string, agentName: string): Promise<string>
  runStatelessForce(content: string, clientId: string): Promise<string>
  /** Sends a message without a question. Returns false if the action was skipped. */
  emit(content: string, clientId: string, agentName: string): Promise<boolean>
  emitForce(content: string, clientId: string): Promise<void>
  /** Sends a message only to connected receivers. Returns false if the action was skipped. @throws Rejection no_recipient if nobody is connected */
  notify(content: string, clientId: string, agentName: string): Promise<boolean>
  notifyForce(content: string, clientId: string): Promise<void>
  /**
   * Runs work in the background as a separate client, which is closed afterwards. Returns the result of `run`, or `undefined` if it throws. @throws
   * Rejection forbidden if the client is already open
   */
  fork<Result>(
    run: (client: SwarmClient, agentName: string) => Promise<Result>,
    options: ForkOptions,
  ): Promise<Result | undefined>
  /** Runs `run` with the same clients but other agents, tools or policies. @throws TypeError for an unknown agent */
  scope<Result>(run: (swarm: Swarm) => Promise<Result>, options: ScopeOptions): Promise<Result>
}

export function createSwarm(spec: SwarmSpec, deps: SwarmDeps): Swarm {
  return openSwarm(spec, deps, createSwarmClients())
}

interface OpenSwarm {
  readonly spec: SwarmSpec
  readonly deps: SwarmDeps
  readonly users: SwarmClients
  /** The clients with the agents of this swarm, keyed by their state. */
  readonly clients: WeakMap<Promise<SwarmClientState>, Promise<SwarmClient>>
}

function openSwarm(spec: SwarmSpec, deps: SwarmDeps, users: SwarmClients): Swarm {
  const swarm: OpenSwarm = { spec, deps, users, clients: new WeakMap() }
  const open = (clientId: string) => openClient(clientId, swarm)
  return {
    open,
    dispose: users.close,
    session: clientId => openSession(clientId, swarm),
    makeConnection: (receive, clientId) => openConnection(receive, clientId, swarm),
    execute: async (content, clientId, agentName) =>
      (await findIfActive(clientId, agentName, swarm))?.execute(content) ?? '',
    executeForce: async (content, clientId) => (await open(clientId)).execute(content),
    runStateless: async (content, clientId, agentName) =>
      (await findIfActive(clientId, agentName, swarm))?.runStateless(content) ?? '',
    runStatelessForce: async (content, clientId) => (await open(clientId)).runStateless(content),
    async emit(content, clientId, agentName) {
      const client = await findIfActive(clientId, agentName, swarm)
      await client?.emit(content)
      return client !== undefined
    },
    emitForce: async (content, clientId) => (await open(clientId)).emit(content),
    async notify(content, clientId, agentName) {
      const client = await findIfActive(clientId, agentName, swarm)
      if (client) await notify(client, content, swarm)
      return client !== undefined
    },
    notifyForce: async (content, clientId) => notify(await open(clientId), content, swarm),
    fork: (run, options) => fork(run, options, swarm),
    scope: async (run, options) => run(openSwarm(scopeSpec(spec, options), deps, users)),
  }
}

function openClient(clientId: string, swarm: OpenSwarm): Promise<SwarmClient> {
  const { spec, deps, users, clients } = swarm
  const state = users.clientStates.get(clientId) ?? openState(clientId, swarm)
  const client = clients.get(state) ?? state.then(clientState => createSwarmClient(spec, deps, clientState))
  clients.set(state, client)
  return client
}

function openState(clientId: string, { spec, deps, users }: OpenSwarm): Promise<SwarmClientState> {
  const state = openSwarmClientState(spec, deps, clientId)
  users.clientStates.set(clientId, state)
  // A state that cannot be opened is removed, so that the next user retries.
  state.catch(() => users.clientStates.delete(clientId))
  return state
}

/** Returns the client if this agent is active, or undefined. */
async function findIfActive(clientId: string, agentName: string, swarm: OpenSwarm): Promise<SwarmClient | undefined> {
  const client = await openClient(clientId, swarm)
  return client.getAgentName() === agentName ? client : undefined
}

async function notify(client: SwarmClient, content: string, { users }: OpenSwarm): Promise<void> {
  if (!users.isConnected(client.clientId))
    throw new Rejection('no_recipient', 'Cannot notify client: nobody is connected')
  await client.notify(content)
}

async function openSession(clientId: string, swarm: OpenSwarm): Promise<SwarmSession> {
  const client = await openClient(clientId, swarm)
  const clientUse = swarm.users.enter(clientId)
  return {
    complete: async (message, options) => (clientUse.hasEnded ? '' : await client.complete(message, options)),
    dispose: clientUse.leave,
  }
}

async function openConnection(receive: ReceiveMessage, clientId: string, swarm: OpenSwarm): Promise<SwarmConnection> {
  const client = await openClient(clientId, swarm)
  const clientUse = swarm.users.connect(clientId, client.connect(receive))
  return {
    async send(message, options) {
      if (!clientUse.hasEnded) await client.complete(message, options)
    },
    dispose: clientUse.leave,
  }
}

async function fork<Result>(
  run: (client: SwarmClient, agentName: string) => Promise<Result>,
  { clientId, onError }: ForkOptions,
  swarm: OpenSwarm,
): Promise<Result | undefined> {
  const { spec, deps, users } = swarm
  if (users.clientStates.has(clientId)) throw new Rejection('forbidden', 'Cannot fork client: it is open already')
  try {
    const client = await openClient(clientId, swarm)
    return await run(client, client.navigation.active)
  } catch (error) {
    deps.system.log.warn({ cause: error, swarmName: spec.swarmName }, 'work in the background failed')
    onError?.(error)
    return undefined
  } finally {
    await users.close(clientId)
  }
}

function scopeSpec(spec: SwarmSpec, { agents = [], ...options }: ScopeOptions): SwarmSpec {
  const unknownAgent = agents.find(({ agentName }) => !spec.agents.some(ownAgent => ownAgent.agentName === agentName))
  if (unknownAgent) throw new TypeError(`the swarm has no agent "${unknownAgent.agentName}"`)
  const find = (own: AgentSpec) => agents.find(({ agentName }) => agentName === own.agentName) ?? own
  return { ...spec, ...options, agents: spec.agents.map(find) }
}
