// Delivers the events of a swarm to listeners in order.
import type { Json, Log } from '@postern/message'
import { Rejection } from '@postern/message'
import type { JsonMap } from '@postern/transcript'

export const busSources = [
  'agent-bus',
  'history-bus',
  'session-bus',
  'swarm-bus',
  'execution-bus',
  'state-bus',
  'storage-bus',
  'compute-bus',
  'policy-bus',
] as const

export type BusSource = (typeof busSources)[number]

export interface BusContext {
  readonly agentName?: string | undefined
  readonly swarmName?: string | undefined
  readonly storageName?: string | undefined
  readonly stateName?: string | undefined
  readonly computeName?: string | undefined
  readonly policyName?: string | undefined
}

/** The client id in events of shared data. */
export const sharedClientId = 'shared'

/** An event of a swarm's client. */
export interface BusEvent {
  readonly type: string
  readonly source: BusSource | (string & {})
  readonly input: JsonMap
  readonly output: JsonMap
  readonly context: BusContext
  readonly clientId: string
  /** The content of a custom event. The other events have none. */
  readonly payload?: Json | undefined
}

type BusListener = (event: BusEvent) => Promise<void> | void

interface BusListenOptions {
  /** The client whose events the listener gets. `*` or absent means all clients. */
  readonly clientId?: string | undefined
  /** The source of the events. Absent means any source. */
  readonly source?: string | undefined
  readonly filter?: ((event: BusEvent) => boolean) | undefined
  /** True for only the first matching event. */
  readonly isOnce?: boolean | undefined
}

export interface SwarmBus {
  /** Adds a listener. @returns the function that removes the listener, which still gets the events emitted before */
  listen(listener: BusListener, options?: BusListenOptions): () => void
  /** Emits an event. It never fails and never waits for a listener. */
  emit(event: Pick<BusEvent, 'type' | 'source' | 'clientId'> & Partial<BusEvent>): void
  /** Emits a custom event. @throws Rejection forbidden for one of `busSources` */
  emitCustom(clientId: string, source: string, payload: Json): void
  /** Resolves when every listener has received all events emitted before the call. */
  drain(): Promise<void>
}

interface Registration extends BusListenOptions {
  readonly listener: BusListener
  lastNotification: Promise<void>
}

/**
 * Creates a bus inside the process. Each listener gets its events in order, one at a time. An error of one listener is logged and affects no
 * other.
 */
export function createSwarmBus({ log }: { readonly log: Pick<Log, 'warn'> }): SwarmBus {
  const registrations = new Set<Registration>()
  const openNotifications = new Set<Promise<void>>()

  function notify(registration: Registration, event: BusEvent): void {
    if (registration.isOnce) registrations.delete(registration)
    const notification = registration.lastNotification
      .then(() => registration.listener(event))
      .catch((cause: unknown) => {
        log.warn({ cause, type: event.type, source: event.source }, 'a listener of the swarm bus failed')
      })
      .finally(() => openNotifications.delete(notification))
    registration.lastNotification = notification
    openNotifications.add(notification)
  }

  function emit(event: Parameters<SwarmBus['emit']>[0]): void {
    const completeEvent: BusEvent = { input: {}, output: {}, context: {}, ...event }
    for (const registration of [...registrations])
      if (matches(registration, completeEvent)) notify(registration, completeEvent)
  }

  function matches({ clientId, source, filter }: Registration, event: BusEvent): boolean {
    if (clientId !== undefined && clientId !== '*' && clientId !== event.clientId) return false
    if (source !== undefined && source !== event.source) return false
    try {
      return filter?.(event) ?? true
    } catch (cause) {
      log.warn({ cause, type: event.type }, 'a filter of the swarm bus failed')
      return false
    }
  }

  return {
    listen(listener, options = {}) {
      const registration: Registration = { ...options, listener, lastNotification: Promise.resolve() }
      registrations.add(registration)
      return () => {
        registrations.delete(registration)
      }
    },
    emit,
    emitCustom(clientId, source, payload) {
      const isOwn = (busSources as readonly string[]).includes(source)
      if (isOwn) throw new Rejection('forbidden', 'Cannot emit event: the source is the bus’s own')
      emit({ type: source, source, clientId, payload })
    },
    async drain() {
      await Promise.all(openNotifications)
    },
  }
}

/** Emits an event of a client on behalf of the active agent. */
export type EmitBusEvent = (
  source: BusSource,
  type: string,
  details?: Partial<Pick<BusEvent, 'input' | 'output'>>,
) => void
