import type { ReplacedAgent } from '@postern/agents'
import type { LeftAloneHost, Listening } from '@postern/core'
import type { Config } from '../config/schema.ts'
import type { ChannelSocket, Composition, CompositionDeps, StartedComposition } from './composition.ts'
import {
  closeChannels,
  compose,
  listTaking,
  openChannelSockets,
  openSocket,
  releaseChannels,
  startComposition,
} from './composition.ts'
import type { FoundationOptions } from './foundation.ts'
import { listAgents, renewFoundation } from './foundation.ts'

/** The compositions of a running gateway: the newest one takes what comes, former ones end what they began. */
export interface Succession {
  current(): Composition
  /** Answers a request by the newest one. */
  serve(request: Request, env?: object): Response | Promise<Response>
  /** @throws ConfigError when a socket cannot be opened */
  start(): Promise<readonly Listening[]>
  reloadAgents(): Promise<void>
  /** Sockets of channels that are open. */
  listSockets(): readonly Listening[]
  listLeftAlone(): readonly LeftAloneHost[]
  /** @returns the sockets of channels that are open then */
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

/** What runs in a former composition has all the time that it takes: the longest that a timer knows, ms. */
const endlessMs = 2 ** 31 - 1

interface State extends SuccessionDeps {
  readonly first: Composition
  current: Composition
  /** Those at work, the newest last. */
  readonly started: Set<StartedComposition>
  /** Also of a start that failed. */
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
      const { agents, platform, operators, config } = state.current.foundation
      const change = await agents.prepare(listAgents(config), { platform, operators })
      const replaced = change.commit()
      newestOf(state).work.restartAgents()
      void closeReplaced(replaced, state)
    },
    listSockets: () => [...state.started].at(-1)?.sockets.map(({ listening }) => listening) ?? [],
    listLeftAlone: () => [...state.started].flatMap(({ work }) => work.listLeftAlone()),
    reload: config => succeed(config, state),
    stop: how => stopAll(state, how),
  }
}

function newestOf({ started }: State): StartedComposition {
  const newest = [...started].at(-1)
  if (!newest) throw new Error('the gateway was not started')
  return newest
}

/** Everything that may fail comes before the first step that cannot be taken back. @throws ConfigError, AggregateError of them */
async function succeed(config: Config, state: State): Promise<readonly Listening[]> {
  const former = newestOf(state)
  const { foundation, change } = await renewFoundation(config, state.options, former.foundation)
  try {
    const next = await compose(foundation, state.deps)
    const { sockets, released } = await takeOverSockets(next, former)
    const replaced = change.commit()
    state.current = next
    const ended = former.work.stop(endlessMs)
    state.started.add(startComposition(next, sockets, state.deps))
    const closed = closeReplaced(replaced, state)
    void retire(former, { state, until: [ended, released, closed, former.endWatch()] })
    return sockets.map(({ listening }) => listening)
  } catch (error) {
    await change.discard()
    await closeChannels(foundation)
    foundation.platform.close()
    throw error
  }
}

/** Each agent with its last turn, wherever this runs. */
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
    // The store goes out by the first one.
    if (former.app !== state.first.app) foundation.platform.close()
  } catch (error) {
    foundation.platform.log.error({ err: error }, 'the former configuration cannot be closed')
  }
}

/** Takes nothing new, finishes or gives back what runs. */
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
  for (const { foundation } of all) if (foundation !== first.foundation) foundation.platform.close()
}

/** Sockets that changed hands. */
interface TakenSockets {
  readonly sockets: readonly ChannelSocket[]
  /** Resolves with the end of the last connection to a former socket. */
  readonly released: Promise<unknown>
}

/**
 * Opens the sockets of a composition that follows another. Former sockets take no new connection then; what is connected goes on. If one
 * cannot be opened, the former ones listen again. @throws ConfigError
 */
async function takeOverSockets(next: Composition, former: StartedComposition): Promise<TakenSockets> {
  const released = new Map<ChannelSocket, Promise<void>>()
  const release = (socket: ChannelSocket) => {
    const { listening } = socket
    if (!released.has(socket)) released.set(socket, listening.release?.() ?? listening.close())
  }
  const sockets: ChannelSocket[] = []
  try {
    for (const channel of listTaking(next.foundation)) {
      const { name } = channel.descriptor
      const before = former.sockets.find(socket => socket.channel.descriptor.name === name)
      const open = () => openSocket(channel, before?.listening)
      const listening = await open().catch(error => {
        // Its address may be the one that the former socket holds.
        if (!before) throw error
        release(before)
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

/** The old ones stay on the list: somebody may still be connected. */
async function reopen(former: StartedComposition, lost: readonly ChannelSocket[]): Promise<void> {
  const reopened: ChannelSocket[] = []
  for (const { channel, listening } of lost) {
    const again = await openSocket(channel, listening)
    if (again) reopened.push({ channel, listening: again })
  }
  former.sockets = [...reopened, ...former.sockets]
}
