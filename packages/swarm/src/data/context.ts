import type { RecordKey, RecordStore } from '@postern/transcript'
import type { BusContext, BusEvent, BusSource, SwarmBus } from '../bus/bus.ts'
import { sharedClientId } from '../bus/bus.ts'

/** What is kept for a client beside the conversation, by its place on the record store; of what is shared the place names no client. */
type DataKind = 'state' | 'storage' | 'compute'

/** Of what kind an item of a shared storage is on the record store. */
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

/** Where one state, storage or compute is kept, and in whose name its events are told. */
export interface DataContext {
  readonly records: RecordStore
  /** `shared` for what is one for all. */
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
