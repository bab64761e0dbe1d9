import type { DeliveryRecord, DeskCounts, MessageState, OperatorDesk } from '@postern/core'
import { stopFlags } from '@postern/core'
import type { CounterName } from './batch.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import { createDeliveryControl } from './delivery-control.ts'
import { createDeliveryList } from './delivery-list.ts'
import { createMessageView } from './message-view.ts'
import type { Refusals } from './refusals.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

export function createOperatorDesk(store: Store, tables: Tables, refusals: Refusals): OperatorDesk {
  const readTotals = createTotalsReader(store.db)
  const deliveryList = createDeliveryList(store.db)
  return {
    ...createMessageView(store.db, tables, deliveryList),
    ...createDeliveryControl(store, tables),
    listDeliveries: deliveryList.listDeliveries,
    listRefusals: refusals.listRefusals,
    count: async () => toCounts(readTotals(), refusals.pending()),
  }
}

type Totals = ReadonlyMap<CounterName, number>

function createTotalsReader(db: Database): () => Totals {
  const readAll = prepareQuery<{ name: CounterName; value: number }>(db, 'SELECT name, value FROM counters')
  return () => new Map(readAll.all().map(({ name, value }) => [name, value]))
}

const messageStates: readonly MessageState[] = ['received', 'working', 'answered', 'failed', 'ignored']
const deliveryStates: readonly DeliveryRecord['state'][] = ['queued', 'sent', 'later', 'dead', 'dismissed']

function toCounts(totals: Totals, pendingRefusals: number): DeskCounts {
  const pick = <State extends string>(kind: 'messages' | 'deliveries' | 'stopped', states: readonly State[]) =>
    Object.fromEntries(states.map(state => [state, totals.get(`${kind}.${state}` as CounterName) ?? 0]))
  return {
    messages: pick('messages', messageStates) as DeskCounts['messages'],
    deliveries: pick('deliveries', deliveryStates) as DeskCounts['deliveries'],
    stopped: pick('stopped', stopFlags) as DeskCounts['stopped'],
    refusals: (totals.get('refusals') ?? 0) + pendingRefusals,
  }
}
