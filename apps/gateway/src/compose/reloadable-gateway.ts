// Replaces the configuration of a running gateway, while work that began under the former one continues.
import type { ReplacedAgent } from '@postern/agents'
import type { LeftAloneHost, Listening } from '@postern/pipeline'
import type { Config } from '../config/schema.ts'
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
  current(): Composition
  /** Answers a request with the newest composition. */
  serve(request: Request, env?: object): Response | Promise<Response>
  /** Opens the sockets and starts the work. @throws ConfigError when a socket cannot be opened */
  start(): Promise<readonly Listening[]>
  reloadAgents(): Promise<void>
  /** Returns the open sockets of channels. */
  listSockets(): readonly Listening[]
  listLeftAlone(): readonly LeftAloneHost[]
  /** Returns the newest `start()` of each agent. */
  starts(): AgentStarts
  /** Replaces the configuration. @returns the channels' sockets that are open afterwards */
  reload(config: Config): Promise<readonly Listening[]>
  stop(options: StopOptions): Promise<void>
}

interface ReloadableGatewayDeps {
  readonly deps: CompositionDeps
  readonly options: ResourceOptions
}

interface StopOptions {
  readonly graceMs: number
  readonly http: Listening | undefined
}

/** The longest delay of a timer, ms. Work of a former composition may take as long as it needs. */
const maxTimerMs = 2 ** 31 - 1

interface State extends ReloadableGatewayDeps {
  readonly first: Composition
  current: Composition
  /** The compositions at work, the newest last. */
  readonly started: Set<StartedComposition>
  /** The sockets of the first start, even if it failed. */
  readonly sockets: ChannelSocket[]
}

export function createReloadableGateway(
  first: Composition,
  { deps, options }: ReloadableGatewayDeps,
): ReloadableGateway {
  const state: State = { first, current: first, deps, options, started: new Set(), sockets: [] }
  return {
    current: () => state.current,
    serve(request, env) {
      const { app, requests } = state.current
      requests.add(env)
      return app.fetch(request, env)
    },
    async start() {
      await openChannelSockets(first, state.sockets)
      state.started.add(startComposition(first, state.sockets, deps))
      return state.sockets.map(({ listening }) => listening)
    },
    async reloadAgents() {
      const { agents, system, operators, config } = state.current.resources
      const change = await agents.prepare(listAgents(config), { system, operators })
      const replacedAgents = change.commit()
      newestOf(state).work.restartAgents()
      void closeReplaced(replacedAgents, state)
    },
    listSockets: () => [...state.started].at(-1)?.sockets.map(({ listening }) => listening) ?? [],
    listLeftAlone: () => [...state.started].flatMap(({ work }) => work.listLeftAlone()),
    starts: () => ([...state.started].at(-1)?.work ?? noWork).starts(),
    reload: config => replaceConfig(config, state),
    stop: options => stopAll(state, options),
  }
}

function newestOf({ started }: State): StartedComposition {
  const newest = [...started].at(-1)
  if (!newest) throw new Error('the gateway was not started')
  return newest
}

/**
 * Replaces the configuration. All steps that may fail come before the first one that cannot be undone.
 * @throws ConfigError, AggregateError of ConfigErrors
 */
async function replaceConfig(config: Config, state: State): Promise<readonly Listening[]> {
  const formerComposition = newestOf(state)
  const { resources, change } = await reopenResources(config, state.options, formerComposition.resources)
  let nextComposition: Composition | undefined
  try {
    nextComposition = await compose(resources, state.deps)
    const { sockets, released } = await replaceSockets(nextComposition, formerComposition)
    const replacedAgents = change.commit()
    state.current = nextComposition
    const workEnd = formerComposition.work.stop(maxTimerMs)
    state.started.add(
      startComposition(nextComposition, sockets, { ...state.deps, formerCompositions: [...state.started] }),
    )
    const agentsClosed = closeReplaced(replacedAgents, state)
    void retire(formerComposition, {
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
async function closeReplaced(replacedAgents: readonly ReplacedAgent[], { started }: State): Promise<void> {
  const works = [...started].map(({ work }) => work)
  const closing = replacedAgents.map(async ({ name, close }) => {
    await Promise.all(works.map(work => work.untilTurnsEnd(name)))
    await close()
  })
  await Promise.all(closing)
}

interface RetireOptions {
  readonly state: State
  readonly pendingWork: readonly Promise<unknown>[]
}

/** Closes a former composition when nothing uses it any more. */
async function retire(
  formerComposition: StartedComposition,
  { state, pendingWork: until }: RetireOptions,
): Promise<void> {
  const { resources } = formerComposition
  try {
    await Promise.all([...until, formerComposition.requests.untilIdle()])
    if (!state.started.delete(formerComposition)) return
    releaseChannels(formerComposition)
    await closeChannels(resources)
    // The store uses the system of the first composition.
    if (formerComposition.app !== state.first.app) resources.system.close()
  } catch (error) {
    resources.system.log.error({ err: error }, 'the former configuration cannot be closed')
  }
}

/** Accepts no new requests or work, and finishes or returns the work that runs. */
async function stopAll(state: State, { graceMs, http }: StopOptions): Promise<void> {
  const { first, started, sockets } = state
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

/** The sockets of a new composition, and the end of the former ones. */
interface SocketReplacement {
  readonly sockets: readonly ChannelSocket[]
  /** Resolves when the last connection to a former socket has ended. */
  readonly released: Promise<unknown>
}

/**
 * Opens the sockets of a new composition. Former sockets then accept no new connection, and open connections continue. If a new socket fails, the
 * former ones listen again.
 * @throws ConfigError
 */
async function replaceSockets(next: Composition, formerComposition: StartedComposition): Promise<SocketReplacement> {
  const releases = new Map<ChannelSocket, Promise<void>>()
  const release = (socket: ChannelSocket) => {
    const { listening } = socket
    if (!releases.has(socket)) releases.set(socket, listening.release?.() ?? listening.close())
  }
  const sockets: ChannelSocket[] = []
  try {
    for (const channel of listReceivingChannels(next.resources)) {
      const { name } = channel.descriptor
      const formerSocket = formerComposition.sockets.find(socket => socket.channel.descriptor.name === name)
      const open = () => openSocket(channel, formerSocket?.listening)
      const listening = await open().catch(error => {
        // The former socket may hold the same address.
        if (!formerSocket) throw error
        release(formerSocket)
        return open()
      })
      if (listening) sockets.push({ channel, listening })
    }
  } catch (error) {
    await Promise.all(sockets.map(({ listening }) => listening.close()))
    await reopen(formerComposition, [...releases.keys()])
    throw error
  }
  for (const socket of formerComposition.sockets) release(socket)
  return { sockets, released: Promise.all(releases.values()) }
}

/** Reopens former sockets. The closed ones stay on the list, because peers may still be connected to them. */
async function reopen(formerComposition: StartedComposition, lostSockets: readonly ChannelSocket[]): Promise<void> {
  const reopened: ChannelSocket[] = []
  for (const { channel, listening } of lostSockets) {
    const reopenedListening = await openSocket(channel, listening)
    if (reopenedListening) reopened.push({ channel, listening: reopenedListening })
  }
  formerComposition.sockets = [...reopened, ...formerComposition.sockets]
}
