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
import type { FoundationOptions } from './foundation.ts'
import { listAgents, renewFoundation } from './foundation.ts'

/** The compositions of a running gateway. The newest one takes requests, and former ones finish their work. */
export interface Succession {
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
  stop(how: StopOptions): Promise<void>
}

interface SuccessionDeps {
  readonly deps: CompositionDeps
  readonly options: FoundationOptions
}

interface StopOptions {
  readonly graceMs: number
  readonly http: Listening | undefined
}

/** The longest delay of a timer, ms. Work of a former composition may take as long as it needs. */
const endlessMs = 2 ** 31 - 1

interface State extends SuccessionDeps {
  readonly first: Composition
  current: Composition
  /** The compositions at work, the newest last. */
  readonly started: Set<StartedComposition>
  /** The sockets of the first start, even if it failed. */
  readonly sockets: ChannelSocket[]
}

export function createSuccession(first: Composition, { deps, options }: SuccessionDeps): Succession {
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
      const { agents, system, operators, config } = state.current.foundation
      const change = await agents.prepare(listAgents(config), { system, operators })
      const replaced = change.commit()
      newestOf(state).work.restartAgents()
      void closeReplaced(replaced, state)
    },
    listSockets: () => [...state.started].at(-1)?.sockets.map(({ listening }) => listening) ?? [],
    listLeftAlone: () => [...state.started].flatMap(({ work }) => work.listLeftAlone()),
    starts: () => ([...state.started].at(-1)?.work ?? noWork).starts(),
    reload: config => succeed(config, state),
    stop: how => stopAll(state, how),
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
async function succeed(config: Config, state: State): Promise<readonly Listening[]> {
  const former = newestOf(state)
  const { foundation, change } = await renewFoundation(config, state.options, former.foundation)
  let next: Composition | undefined
  try {
    next = await compose(foundation, state.deps)
    const { sockets, released } = await takeOverSockets(next, former)
    const replaced = change.commit()
    state.current = next
    const ended = former.work.stop(endlessMs)
    state.started.add(startComposition(next, sockets, { ...state.deps, formers: [...state.started] }))
    const closed = closeReplaced(replaced, state)
    void retire(former, { state, until: [ended, released, closed, former.endWatch()] })
    return sockets.map(({ listening }) => listening)
  } catch (error) {
    next?.leave()
    await change.discard()
    await closeChannels(foundation)
    foundation.system.close()
    throw error
  }
}

/** Closes each replaced agent when its last turn in any composition has ended. */
async function closeReplaced(replaced: readonly ReplacedAgent[], { started }: State): Promise<void> {
  const works = [...started].map(({ work }) => work)
  const closing = replaced.map(async ({ name, close }) => {
    await Promise.all(works.map(work => work.untilTurnsEnd(name)))
    await close()
  })
  await Promise.all(closing)
}

interface Retirement {
  readonly state: State
  readonly until: readonly Promise<unknown>[]
}

/** Closes a former composition when nothing uses it any more. */
async function retire(former: StartedComposition, { state, until }: Retirement): Promise<void> {
  const { foundation } = former
  try {
    await Promise.all([...until, former.requests.ended()])
    if (!state.started.delete(former)) return
    releaseChannels(former)
    await closeChannels(foundation)
    // The store uses the system of the first composition.
    if (former.app !== state.first.app) foundation.system.close()
  } catch (error) {
    foundation.system.log.error({ err: error }, 'the former configuration cannot be closed')
  }
}

/** Accepts no new requests or work, and finishes or returns the work that runs. */
async function stopAll(state: State, { graceMs, http }: StopOptions): Promise<void> {
  const { first, started, sockets } = state
  const all: readonly Composition[] = started.size > 0 ? [...started] : [first]
  for (const composition of all) releaseChannels(composition)
  const open = new Set([...sockets, ...[...started].flatMap(composition => composition.sockets)])
  await Promise.all([
    http?.close(),
    ...[...open].map(({ listening }) => listening.close()),
    ...[...started].flatMap(({ work, endWatch }) => [work.stop(graceMs), endWatch()]),
  ])
  started.clear()
  await Promise.all(all.map(({ foundation }) => closeChannels(foundation)))
  for (const { foundation } of all) if (foundation !== first.foundation) foundation.system.close()
}

/** The sockets of a new composition, and the end of the former ones. */
interface TakenSockets {
  readonly sockets: readonly ChannelSocket[]
  /** Resolves when the last connection to a former socket has ended. */
  readonly released: Promise<unknown>
}

/**
 * Opens the sockets of a new composition. Former sockets then accept no new connection, and open connections continue. If a new socket fails, the
 * former ones listen again.
 * @throws ConfigError
 */
async function takeOverSockets(next: Composition, former: StartedComposition): Promise<TakenSockets> {
  const released = new Map<ChannelSocket, Promise<void>>()
  const release = (socket: ChannelSocket) => {
    const { listening } = socket
    if (!released.has(socket)) released.set(socket, listening.release?.() ?? listening.close())
  }
  const sockets: ChannelSocket[] = []
  try {
    for (const channel of listReceivingChannels(next.foundation)) {
      const { name } = channel.descriptor
      const formerSocket = former.sockets.find(socket => socket.channel.descriptor.name === name)
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
    await reopen(former, [...released.keys()])
    throw error
  }
  for (const socket of former.sockets) release(socket)
  return { sockets, released: Promise.all(released.values()) }
}

/** Reopens former sockets. The closed ones stay on the list, because peers may still be connected to them. */
async function reopen(former: StartedComposition, lost: readonly ChannelSocket[]): Promise<void> {
  const reopened: ChannelSocket[] = []
  for (const { channel, listening } of lost) {
    const again = await openSocket(channel, listening)
    if (again) reopened.push({ channel, listening: again })
  }
  former.sockets = [...reopened, ...former.sockets]
}
