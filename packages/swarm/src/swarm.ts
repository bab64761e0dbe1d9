import { Rejection } from '@postern/core'
import type { ReceiveMessage, SwarmClient, SwarmMessageOptions } from './client/client.ts'
import { createSwarmClient } from './client/client.ts'
import type { SwarmClients } from './client/clients.ts'
import { createSwarmClients } from './client/clients.ts'
import type { SwarmClientState } from './client/state.ts'
import { openSwarmClientState } from './client/state.ts'
import type { AgentSpec } from './spec/agent.ts'
import type { SwarmDeps, SwarmSpec } from './spec/swarm.ts'

type Words = Pick<SwarmMessageOptions, 'payload' | 'images' | 'hear'>

interface SwarmSession {
  /** '' after `dispose`. */
  complete(message: string, options?: Words): Promise<string>
  dispose(): Promise<void>
}

interface SwarmConnection {
  /** Resolves when it is answered; the answer goes to who receives. */
  send(message: string, options?: Words): Promise<void>
  dispose(): Promise<void>
}

interface ForkOptions {
  readonly clientId: string
  readonly onError?: ((error: unknown) => void) | undefined
}

/** In place of the swarm's own, for a while. Its agents stay the same by name. */
type ScopeOptions = Partial<
  Pick<
    SwarmSpec,
    'agents' | 'policies' | 'commonPrompts' | 'texts' | 'answerChecks' | 'states' | 'storages' | 'computes'
  >
>

/**
 * A swarm and its clients. A client is open as long as somebody uses it; whoever opens it, its turns are taken one after the other. What
 * is said in the name of an agent (`agentName`) is skipped when that agent is not the active one any more.
 */
interface Swarm {
  /** The client, opened where it was left. */
  open(clientId: string): Promise<SwarmClient>
  /** Forgets what is in memory of a client, and gives up its answer. What is stored stays. */
  dispose(clientId: string): Promise<void>
  session(clientId: string): Promise<SwarmSession>
  makeConnection(receive: ReceiveMessage, clientId: string): Promise<SwarmConnection>
  /** In tool mode. '' when it was skipped. */
  execute(content: string, clientId: string, agentName: string): Promise<string>
  executeForce(content: string, clientId: string): Promise<string>
  /** '' when it was skipped. */
  runStateless(content: string, clientId: string, agentName: string): Promise<string>
  runStatelessForce(content: string, clientId: string): Promise<string>
  /** False when it was skipped. */
  emit(content: string, clientId: string, agentName: string): Promise<boolean>
  emitForce(content: string, clientId: string): Promise<void>
  /** False when it was skipped. @throws Rejection no_recipient when nobody is connected */
  notify(content: string, clientId: string, agentName: string): Promise<boolean>
  notifyForce(content: string, clientId: string): Promise<void>
  /**
   * Work in the background, as a client of its own that ends with it. Gives what `run` returns; `undefined` when it throws.
   * @throws Rejection forbidden when the client is open already
   */
  fork<Result>(
    run: (client: SwarmClient, agentName: string) => Promise<Result>,
    options: ForkOptions,
  ): Promise<Result | undefined>
  /** The same clients with other agents, tools or policies, for as long as `run` runs. @throws TypeError for an agent that the swarm has not */
  scope<Result>(run: (swarm: Swarm) => Promise<Result>, options: ScopeOptions): Promise<Result>
}

export function createSwarm(spec: SwarmSpec, deps: SwarmDeps): Swarm {
  return openSwarm(spec, deps, createSwarmClients())
}

function openSwarm(spec: SwarmSpec, deps: SwarmDeps, swarmClients: SwarmClients): Swarm {
  const { clientStates } = swarmClients
  /** For each state the client with the agents of this gateway. */
  const clients = new WeakMap<Promise<SwarmClientState>, Promise<SwarmClient>>()

  function open(clientId: string): Promise<SwarmClient> {
    const state = clientStates.get(clientId) ?? openState(clientId)
    const client = clients.get(state) ?? state.then(opened => createSwarmClient(spec, deps, opened))
    clients.set(state, client)
    return client
  }

  function openState(clientId: string): Promise<SwarmClientState> {
    const state = openSwarmClientState(spec, deps, clientId)
    clientStates.set(clientId, state)
    // What could not be opened is tried again by whoever comes next.
    state.catch(() => clientStates.delete(clientId))
    return state
  }

  async function actFor<Result>(
    clientId: string,
    agentName: string,
    act: (client: SwarmClient) => Promise<Result>,
  ): Promise<Result | undefined> {
    const client = await open(clientId)
    return client.getAgentName() === agentName ? await act(client) : undefined
  }

  async function notify(client: SwarmClient, content: string): Promise<true> {
    if (!swarmClients.isConnected(client.clientId))
      throw new Rejection('no_recipient', 'Cannot notify client: nobody is connected')
    await client.notify(content)
    return true
  }

  return {
    open,
    dispose: swarmClients.close,
    async session(clientId) {
      const client = await open(clientId)
      const stay = swarmClients.enter(clientId)
      return {
        complete: async (message, options) => (stay.isOver ? '' : await client.complete(message, options)),
        dispose: stay.leave,
      }
    },
    async makeConnection(receive, clientId) {
      const client = await open(clientId)
      const disconnect = client.connect(receive)
      const stay = swarmClients.connect(clientId, disconnect)
      return {
        async send(message, options) {
          if (!stay.isOver) await client.complete(message, options)
        },
        dispose: stay.leave,
      }
    },
    execute: async (content, clientId, agentName) =>
      (await actFor(clientId, agentName, client => client.execute(content))) ?? '',
    executeForce: async (content, clientId) => (await open(clientId)).execute(content),
    runStateless: async (content, clientId, agentName) =>
      (await actFor(clientId, agentName, client => client.runStateless(content))) ?? '',
    runStatelessForce: async (content, clientId) => (await open(clientId)).runStateless(content),
    emit: async (content, clientId, agentName) =>
      (await actFor(clientId, agentName, client => client.emit(content).then(() => true))) ?? false,
    emitForce: async (content, clientId) => (await open(clientId)).emit(content),
    notify: async (content, clientId, agentName) =>
      (await actFor(clientId, agentName, client => notify(client, content))) ?? false,
    async notifyForce(content, clientId) {
      await notify(await open(clientId), content)
    },
    async fork(run, { clientId, onError }) {
      if (clientStates.has(clientId)) throw new Rejection('forbidden', 'Cannot fork client: it is open already')
      try {
        const client = await open(clientId)
        return await run(client, client.navigation.active)
      } catch (error) {
        deps.platform.log.warn({ cause: error, swarmName: spec.swarmName }, 'work in the background failed')
        onError?.(error)
        return undefined
      } finally {
        await swarmClients.close(clientId)
      }
    },
    async scope(run, options) {
      return await run(openSwarm(scopeSpec(spec, options), deps, swarmClients))
    },
  }
}

function scopeSpec(spec: SwarmSpec, { agents = [], ...options }: ScopeOptions): SwarmSpec {
  const stranger = agents.find(({ agentName }) => !spec.agents.some(own => own.agentName === agentName))
  if (stranger) throw new TypeError(`the swarm has no agent "${stranger.agentName}"`)
  const find = (own: AgentSpec) => agents.find(({ agentName }) => agentName === own.agentName) ?? own
  return { ...spec, ...options, agents: spec.agents.map(find) }
}
