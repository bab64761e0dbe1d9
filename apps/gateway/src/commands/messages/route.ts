import type { AgentDeps } from '@postern/agents'
import type { LookupStore, MessageRecord, OperatorStore, TraceStore } from '@postern/core'
import { createSlidingWindowPolicy, parseAddress } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation, requireFound } from '../../api/operation.ts'
import { listInWindow, toPeriod } from '../../api/page.ts'
import type { DeliveryChange } from './operations.ts'
import { deliveryOperations, messageOperations, refusalOperations } from './operations.ts'

interface MessageRouteOptions {
  readonly store: OperatorStore & Pick<LookupStore, 'readHistory'> & Pick<TraceStore, 'findDelivery'>
  readonly agents: Pick<AgentDeps, 'findRunning'>
}

/** What came, what was refused and what goes out. */
export function createMessageRoutes({ store, agents }: MessageRouteOptions): readonly OperatorRoute[] {
  const withHistory = createHistoryReader(store, agents)
  return [
    handleOperation(messageOperations.list, ({ query }) => {
      const list = query.text === undefined ? 'messages' : 'texts'
      return listInWindow(query, {
        find: page => store.findListWindow(list, page),
        list: page => store.listMessages(page),
        placeOf: ({ message }) => message,
      })
    }),
    handleOperation(messageOperations.find, async ({ parameters }) => {
      const record = await store.findMessage(parameters.id)
      return withHistory(requireFound(record, 'Cannot show message: there is none with this id'))
    }),
    handleOperation(deliveryOperations.list, ({ query }) =>
      listInWindow(query, {
        find: page => store.findListWindow(query.state === 'dead' ? 'dead' : 'deliveries', page),
        list: page => store.listDeliveries(page),
        placeOf: ({ id }) => Number(id),
      }),
    ),
    handleOperation(deliveryOperations.find, async ({ parameters: { id } }) =>
      requireFound(await store.findDelivery(id), 'Cannot show delivery: there is none with this id'),
    ),
    handleOperation(deliveryOperations.change, async ({ parameters: { id, action } }) => {
      const { change, what } = deliveryChanges[action]
      requireFound(await change(store, id), `Cannot ${action} delivery: there is no ${what} with this id`)
      return { id, done: action }
    }),
    handleOperation(refusalOperations.list, async ({ query }) => {
      const items = await store.listRefusals({ ...query, ...toPeriod(query) })
      return { items, next: items.length < query.limit ? null : (items.at(-1)?.place ?? null) }
    }),
  ]
}

/** The past as the agent's own policy gives it; the first message of a thread has none. */
function createHistoryReader(
  store: Pick<LookupStore, 'readHistory'>,
  agents: Pick<AgentDeps, 'findRunning'>,
): (record: MessageRecord) => Promise<MessageRecord> {
  return async record => {
    const { number: before, thread, message } = record
    const policy = agents.findRunning(parseAddress(message.recipient).local)?.history ?? createSlidingWindowPolicy()
    const { turns } = policy.view(await store.readHistory({ thread, before, ...policy.reach }))
    return turns.length > 0 ? { ...record, message: { ...message, history: [...turns] } } : record
  }
}

interface DeliveryChangeRule {
  /** The deliveries that it is for. */
  readonly what: string
  change(store: OperatorStore, id: string): Promise<boolean>
}

const deliveryChanges: Readonly<Record<DeliveryChange, DeliveryChangeRule>> = {
  retry: { what: 'unfinished one', change: (store, id) => store.retryDelivery(id) },
  drop: { what: 'unfinished one', change: (store, id) => store.dropDelivery(id) },
  dismiss: { what: 'dead letter', change: (store, id) => store.dismissDelivery(id) },
}
