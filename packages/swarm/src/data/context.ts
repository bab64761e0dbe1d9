import type { RecordKey, RecordStore } from '@postern/transcript'
import type { BusContext, BusEvent, BusSource, SwarmBus } from '../bus/bus.ts'
import { sharedClientId } from '../bus/bus.ts'

/** The data of a client beside the conversation, by its key on the record store. The key of shared data names no client. */
type DataKind = 'state' | 'storage' | 'compute'

/** The record kind of an item in a shared storage. */
export function kindOfItems(storageName: string): string {
  return `swarm-shared-item:${storageName}`
}

export interface DataDeps {
  readonly records: RecordStore
  readonly bus: SwarmBus
  readonly owner: string
  readonly swarmName: string
  readonly clientId: string
  activeAgent(): string
}

/** The key of one state, storage or compute, and the client in its events. */
export interface DataContext {
  readonly records: RecordStore
  /** `shared` for data of all clients. */
  readonly clientId: string
  readonly owner: string
  placeOf(kind: DataKind, name: string): RecordKey
  tell(
    source: BusSource,
    event: Pick<BusEvent, 'type'> & Partial<Pick<BusEvent, 'input' | 'output'>> & { readonly context: BusContext },
  ): void
}

export function openDataContext(deps: DataDeps, isShared = false): DataContext {
  const { records, bus, owner, swarmName, activeAgent } = deps
  const clientId = isShared ? sharedClientId : deps.clientId
  return {
    records,
    clientId,
    owner,
    placeOf: (kind, name) =>
      isShared
        ? { kind: `swarm-shared-${kind}`, owner, key: JSON.stringify([swarmName, name]) }
        : { kind: `swarm-${kind}`, owner, key: JSON.stringify([swarmName, name, clientId]) },
    tell(source, { type, context, ...told }) {
      bus.emit({ type, source, clientId, context: { agentName: activeAgent(), swarmName, ...context }, ...told })
    },
  }
}
