// Lists messages, conversations, deliveries and refusals, and changes deliveries, in the operator's API.
import { parseAddress } from '@postern/message'
import type {
  ConversationSummary,
  LookupStore,
  MessageRecord,
  OperatorStore,
  RunningAgent,
  TraceStore,
} from '@postern/pipeline'
import { createSlidingWindowPolicy } from '@postern/pipeline'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation, requireFound } from '../../api/operation.ts'
import { containsText, filterPage, isWithin, listInWindow, toPeriod } from '../../api/page.ts'
import type { ConversationFilter, DeliveryChange } from './operations.ts'
import { conversationOperations, deliveryOperations, messageOperations, refusalOperations } from './operations.ts'

/** Finds the agents that run, by their names. */
export interface RunningAgents {
  findRunning(name: string): RunningAgent | undefined
}

interface MessageRouteOptions {
  readonly store: OperatorStore & Pick<LookupStore, 'readHistory'> & Pick<TraceStore, 'findDelivery'>
  readonly agents: RunningAgents
}

export function createMessageRoutes({ store, agents }: MessageRouteOptions): readonly OperatorRoute[] {
  const withHistory = createHistoryReader(store, agents)
  return [
    handleOperation(messageOperations.list, ({ query }) => {
      const list = query.text === undefined ? 'messages' : 'texts'
      return listInWindow(query, {
        findWindow: page => store.findListWindow(list, page),
        listItems: page => store.listMessages(page),
        positionOf: ({ message }) => message,
      })
    }),
    handleOperation(messageOperations.find, async ({ parameters }) => {
      const record = await store.findMessage(parameters.id)
      return withHistory(requireFound(record, 'Cannot show message: there is no message with this id'))
    }),
    handleOperation(conversationOperations.list, ({ query }) =>
      filterPage(
        query,
        async page => (await store.listConversations(page)).map(row => ({ row, number: row.thread })),
        ({ row }) => (isOfConversation(row, query) ? row : undefined),
      ),
    ),
    handleOperation(deliveryOperations.list, ({ query }) =>
      listInWindow(query, {
        findWindow: page => store.findListWindow(query.state === 'dead' ? 'dead' : 'deliveries', page),
        listItems: page => store.listDeliveries(page),
        positionOf: ({ id }) => Number(id),
      }),
    ),
    handleOperation(deliveryOperations.find, async ({ parameters: { id } }) =>
      requireFound(await store.findDelivery(id), 'Cannot show delivery: there is no delivery with this id'),
    ),
    handleOperation(deliveryOperations.change, async ({ parameters: { id, action } }) => {
      const { change, deliveryKind } = deliveryChanges[action]
      requireFound(await change(store, id), `Cannot ${action} delivery: there is no ${deliveryKind} with this id`)
      return { id, done: action }
    }),
    handleOperation(refusalOperations.list, async ({ query }) => {
      const items = await store.listRefusals({ ...query, ...toPeriod(query) })
      return { items, next: items.length < query.limit ? null : (items.at(-1)?.number ?? null) }
    }),
  ]
}

function isOfConversation(
  conversation: ConversationSummary,
  { agent, channel, sender, ...period }: ConversationFilter,
) {
  return (
    (agent === undefined || conversation.agent === agent) &&
    (channel === undefined || conversation.via === channel) &&
    containsText(conversation.sender, sender) &&
    isWithin(Date.parse(conversation.last_at), period)
  )
}

/** Adds the history that the agent’s own policy gives it. The first message of a thread has none. */
function createHistoryReader(
  store: Pick<LookupStore, 'readHistory'>,
  agents: RunningAgents,
): (record: MessageRecord) => Promise<MessageRecord> {
  return async record => {
    const { number: before, thread, message } = record
    const policy = agents.findRunning(parseAddress(message.recipient).local)?.history ?? createSlidingWindowPolicy()
    const { turns } = policy.view(await store.readHistory({ thread, beforeMessage: before, ...policy.reach }))
    return turns.length > 0 ? { ...record, message: { ...message, history: [...turns] } } : record
  }
}

interface DeliveryChangeRule {
  /** The kind of delivery that the change is for. */
  readonly deliveryKind: string
  change(store: OperatorStore, id: string): Promise<boolean>
}

const deliveryChanges: Readonly<Record<DeliveryChange, DeliveryChangeRule>> = {
  retry: { deliveryKind: 'unfinished delivery', change: (store, id) => store.retryDelivery(id) },
  drop: { deliveryKind: 'unfinished delivery', change: (store, id) => store.dropDelivery(id) },
  dismiss: { deliveryKind: 'dead letter', change: (store, id) => store.dismissDelivery(id) },
}
