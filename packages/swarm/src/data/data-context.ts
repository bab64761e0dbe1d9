// Names the records and events of a client's data.
import type { RecordKey, RecordStore } from '@postern/transcript'
import type { BusContext, BusEvent, BusSource, SwarmBus } from '../bus/bus.ts'
import { sharedClientId } from '../bus/bus.ts'

/** The kind of a client's data in its key of the record store. The key of shared data names no client. */
type DataKind = 'state' | 'storage' | 'compute'

/** Returns the record kind of an item in a shared storage. */
export function kindOfItems(storageName: string): string {
  return `swarm-shared-item:${storageName}`
}

/** Returns the record kind of the embeddings of a storage's texts. Shared embeddings have the retention and quota of the shared items. */
export function kindOfEmbeddings(storageName: string, { isShared }: { readonly isShared: boolean }): string {
  return isShared ? `swarm-shared-embedding:${storageName}` : 'swarm-own-embedding'
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
  /** The id of the client, or `shared` for data of all clients. */
  readonly clientId: string
  readonly owner: string
  recordKeyOf(kind: DataKind, name: string): RecordKey
  emit(
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
    recordKeyOf: (kind, name) =>
      isShared
        ? { kind: `swarm-shared-${kind}`, owner, key: JSON.stringify([swarmName, name]) }
        : { kind: `swarm-${kind}`, owner, key: JSON.stringify([swarmName, name, clientId]) },
    emit(source, { type, context, ...event }) {
      bus.emit({ type, source, clientId, context: { agentName: activeAgent(), swarmName, ...context }, ...event })
    },
  }
}
