// Replaces the configuration of a running gateway, while work that began under the former configuration continues.
import type { ReplacedAgent } from '@postern/agents'
import type { ListeningSocket, PausedHost } from '@postern/pipeline'
import type { Config } from '../config/schema.ts'
import type { ServedRoutes } from '../http/listen.ts'
import type { AgentStarts } from '../work/agent-starts.ts'
import { noWork } from '../work/work.ts'
import type { ChannelSocket, Composition, CompositionDeps, StartedComposition } from './composition.ts'
import {
  closeChannels,
  compose,
  listReceivingChannels,
  openChannelSockets,
  openSocket,
  releaseChannels,
  startComposition,
} from './composition.ts'
import type { ResourceOptions } from './resources.ts'
import { listAgents, reopenResources } from './resources.ts'

/** The compositions of a running gateway. The newest one takes requests, and former ones finish their work. */
export interface ReloadableGateway {
  findCurrentComposition(): Composition
  /** The routes of the newest composition. */
  readonly routes: ServedRoutes
  /** Opens the sockets and starts the work. @throws ConfigError when a socket cannot be opened */
  start(): Promise<readonly ListeningSocket[]>
  reloadAgents(): Promise<void>
  /** Returns the open sockets of channels. */
  listSockets(): readonly ListeningSocket[]
  listPausedHosts(): readonly PausedHost[]
  /** Returns the newest `start()` of each agent. */
  starts(): AgentStarts
  /** Replaces the configuration. @returns the channels' sockets that are open afterwards */
  reload(config: Config): Promise<readonly ListeningSocket[]>
  stop(options: StopOptions): Promise<void>
}

interface ReloadableGatewayDeps {
  readonly deps: CompositionDeps
  readonly options: ResourceOptions
}

interface StopOptions {
  readonly graceMs: number
  readonly http: ListeningSocket | undefined
}

/** The longest delay of a timer, ms. Work of a former composition may take as long as it needs. */
const maxTimerMs = 2 ** 31 - 1

interface State extends ReloadableGatewayDeps {
  readonly firstComposition: Composition
  currentComposition: Composition
  /** The compositions at work, the newest last. */
  readonly startedCompositions: Set<StartedComposition>
  /** The sockets of the first start, even if it failed. */
  readonly sockets: ChannelSocket[]
}

export function createReloadableGateway(
  firstComposition: Composition,
  { deps, options }: ReloadableGatewayDeps,
): ReloadableGateway {
  const state: State = {
    firstComposition,
    currentComposition: firstComposition,
    deps,
    options,
    startedCompositions: new Set(),
    sockets: [],
  }
  return {
    findCurrentComposition: () => state.currentComposition,
    routes: {
      fetch(request, env) {
        const { routes, requests } = state.currentComposition
        requests.add(env)
        return routes.fetch(request, env)
      },
      serveHot(incoming, outgoing) {
        const { routes, requests } = state.currentComposition
        const isServed = routes.serveHot(incoming, outgoing)
        if (isServed) requests.add({ outgoing })
        return isServed
      },
    },
    async start() {
      await openChannelSockets(firstComposition, state.sockets)
      state.startedCompositions.add(startComposition(firstComposition, state.sockets, deps))
      return state.sockets.map(({ listening }) => listening)
    },
    async reloadAgents() {
      const { agents, system, operators, config } = state.currentComposition.resources
      const change = await agents.prepare(listAgents(config), { system, operators })
      const replacedAgents = change.commit()
      requireNewestComposition(state).work.restartAgents()
      void closeReplacedAgents(replacedAgents, state)
    },
    listSockets: () => [...state.startedCompositions].at(-1)?.sockets.map(({ listening }) => listening) ?? [],
    listPausedHosts: () => [...state.startedCompositions].flatMap(({ work }) => work.listPausedHosts()),
    starts: () => ([...state.startedCompositions].at(-1)?.work ?? noWork).starts(),
    reload: config => replaceConfig(config, state),
    stop: options => stopCompositions(state, options),
  }
}

function requireNewestComposition({ startedCompositions: started }: State): StartedComposition {
  const newestComposition = [...started].at(-1)
  if (!newestComposition) throw new Error('the gateway was not started')
  return newestComposition
}

/**
 * Replaces the configuration. All steps that may fail come before the first step that cannot be undone.
 * @throws ConfigError, AggregateError of ConfigErrors
 */
async function replaceConfig(config: Config, state: State): Promise<readonly ListeningSocket[]> {
  const formerComposition = requireNewestComposition(state)
  const { resources, change } = await reopenResources(config, state.options, formerComposition.resources)
  let nextComposition: Composition | undefined
  try {
    nextComposition = await compose(resources, state.deps)
    const { sockets, releasedSockets: released } = await replaceSockets(nextComposition, formerComposition)
    const replacedAgents = change.commit()
    state.currentComposition = nextComposition
    const workEnd = formerComposition.work.stop(maxTimerMs)
    state.startedCompositions.add(
      startComposition(nextComposition, sockets, { ...state.deps, formerCompositions: [...state.startedCompositions] }),
    )
    const agentsClosed = closeReplacedAgents(replacedAgents, state)
    void closeFormerComposition(formerComposition, {
      state,
      pendingWork: [workEnd, released, agentsClosed, formerComposition.endWatch()],
    })
    return sockets.map(({ listening }) => listening)
  } catch (error) {
    nextComposition?.endStreams()
    await change.discard()
    await closeChannels(resources)
    resources.system.close()
    throw error
  }
}

/** Closes each replaced agent when its last turn in any composition has ended. */
async function closeReplacedAgents(
  replacedAgents: readonly ReplacedAgent[],
  { startedCompositions: started }: State,
): Promise<void> {
  const works = [...started].map(({ work }) => work)
  const pendingClosings = replacedAgents.map(async ({ name, close }) => {
    await Promise.all(works.map(work => work.waitForTurns(name)))
    await close()
  })
  await Promise.all(pendingClosings)
}

interface RetireOptions {
  readonly state: State
  readonly pendingWork: readonly Promise<unknown>[]
}

/** Closes a former composition when nothing uses it any more. */
async function closeFormerComposition(
  formerComposition: StartedComposition,
  { state, pendingWork }: RetireOptions,
): Promise<void> {
  const { resources } = formerComposition
  try {
    await Promise.all([...pendingWork, formerComposition.requests.waitUntilIdle()])
    if (!state.startedCompositions.delete(formerComposition)) return
    releaseChannels(formerComposition)
    await closeChannels(resources)
    // The store uses the system of the first composition.
    if (formerComposition.app !== state.firstComposition.app) resources.system.close()
  } catch (error) {
    resources.system.log.error({ err: error }, 'the former configuration cannot be closed')
  }
}

/** Accepts no new requests or work, and finishes or returns the work that runs. */
async function stopCompositions(state: State, { graceMs, http }: StopOptions): Promise<void> {
  const { firstComposition: first, startedCompositions: started, sockets } = state
  const compositions: readonly Composition[] = started.size > 0 ? [...started] : [first]
  for (const composition of compositions) releaseChannels(composition)
  const openSockets = new Set([...sockets, ...[...started].flatMap(composition => composition.sockets)])
  await Promise.all([
    http?.close(),
    ...[...openSockets].map(({ listening }) => listening.close()),
    ...[...started].flatMap(({ work, endWatch }) => [work.stop(graceMs), endWatch()]),
  ])
  started.clear()
  await Promise.all(compositions.map(({ resources }) => closeChannels(resources)))
  for (const { resources } of compositions) if (resources !== first.resources) resources.system.close()
}

/** The sockets of a new composition, and the release of the former sockets. */
interface SocketReplacement {
  readonly sockets: readonly ChannelSocket[]
  /** Resolves when the last connection to a former socket has ended. */
  readonly releasedSockets: Promise<unknown>
}

/**
 * Opens the sockets of a new composition. Former sockets then accept no new connection, and open connections continue. If a new socket fails, the
 * former ones listen again.
 * @throws ConfigError
 */
async function replaceSockets(
  nextComposition: Composition,
  formerComposition: StartedComposition,
): Promise<SocketReplacement> {
  const releases = new Map<ChannelSocket, Promise<void>>()
  const releaseSocket = (socket: ChannelSocket) => {
    const { listening } = socket
    if (!releases.has(socket)) releases.set(socket, listening.release?.() ?? listening.close())
  }
  const sockets: ChannelSocket[] = []
  try {
    for (const channel of listReceivingChannels(nextComposition.resources)) {
      const { name } = channel.descriptor
      const formerSocket = formerComposition.sockets.find(socket => socket.channel.descriptor.name === name)
      const open = () => openSocket(channel, formerSocket?.listening)
      const listening = await open().catch(error => {
        // The former socket may hold the same address.
        if (!formerSocket) throw error
        releaseSocket(formerSocket)
        return open()
      })
      if (listening) sockets.push({ channel, listening })
    }
  } catch (error) {
    await Promise.all(sockets.map(({ listening }) => listening.close()))
    await reopenSockets(formerComposition, [...releases.keys()])
    throw error
  }
  for (const socket of formerComposition.sockets) releaseSocket(socket)
  return { sockets, releasedSockets: Promise.all(releases.values()) }
}

/** Reopens former sockets. The closed ones stay on the list, because peers may still be connected to them. */
async function reopenSockets(
  formerComposition: StartedComposition,
  lostSockets: readonly ChannelSocket[],
): Promise<void> {
  const reopenedSockets: ChannelSocket[] = []
  for (const { channel, listening } of lostSockets) {
    const reopenedListening = await openSocket(channel, listening)
    if (reopenedListening) reopenedSockets.push({ channel, listening: reopenedListening })
  }
  formerComposition.sockets = [...reopenedSockets, ...formerComposition.sockets]
}
