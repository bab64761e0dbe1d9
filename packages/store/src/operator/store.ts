import type { DeliveryRecord, MessageState, OperatorStore, StoreCounts, TraceStore } from '@postern/core'
import { stopFlags } from '@postern/core'
import type { CounterName } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { DeliveryControlDeps } from './delivery-control.ts'
import { createDeliveryControl } from './delivery-control.ts'
import { createDeliveryList } from './delivery-list.ts'
import { createFigures } from './figures.ts'
import { createWindowFinder } from './list-window.ts'
import type { MessageViewDeps } from './message-view.ts'
import { createMessageView } from './message-view.ts'
import type { Refusals } from './refusals.ts'
import type { TraceDeps } from './traces.ts'
import { createTraceStore } from './traces.ts'

export function createOperatorStore(
  context: StoreContext,
  tables: MessageViewDeps & DeliveryControlDeps & TraceDeps,
  refusals: Refusals,
): OperatorStore & TraceStore {
  const readTotals = createTotalsReader(context.db)
  const deliveryList = createDeliveryList(context.db)
  return {
    ...createMessageView(context.db, tables, deliveryList),
    ...createDeliveryControl(context, tables),
    ...createTraceStore(context, tables, deliveryList),
    ...createFigures(context.db),
    findListWindow: createWindowFinder(context.db),
    listDeliveries: deliveryList.listDeliveries,
    listRefusals: refusals.listRefusals,
    count: async () => toCounts(readTotals(), refusals.pending()),
  }
}

type Totals = ReadonlyMap<CounterName, number>

function createTotalsReader(db: Database): () => Totals {
  const readAll = prepareQuery<{ name: CounterName; value: number }>(
    db,
    'SELECT name, sum(value) AS value FROM counters GROUP BY name',
  )
  return () => new Map(readAll.all().map(({ name, value }) => [name, value]))
}

const messageStates: readonly MessageState[] = ['received', 'working', 'answered', 'failed', 'ignored']
const deliveryStates: readonly DeliveryRecord['state'][] = ['queued', 'sent', 'later', 'dead', 'dismissed']

function toCounts(totals: Totals, pendingRefusals: number): StoreCounts {
  const pick = <State extends string>(kind: 'messages' | 'deliveries' | 'stopped', states: readonly State[]) =>
    Object.fromEntries(states.map(state => [state, totals.get(`${kind}.${state}` as CounterName) ?? 0]))
  return {
    messages: pick('messages', messageStates) as StoreCounts['messages'],
    deliveries: pick('deliveries', deliveryStates) as StoreCounts['deliveries'],
    stopped: pick('stopped', stopFlags) as StoreCounts['stopped'],
    refusals: (totals.get('refusals') ?? 0) + pendingRefusals,
  }
}
