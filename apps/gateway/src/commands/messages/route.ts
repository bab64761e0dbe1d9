import type { AgentDeps } from '@postern/agents'
import type { DeliveryRecord, LookupStore, MessageRecord, OperatorStore } from '@postern/core'
import { createSlidingWindowPolicy, parseAddress, Rejection } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'

interface MessageRouteOptions {
  readonly store: OperatorStore & Pick<LookupStore, 'readHistory'>
  readonly agents: Pick<AgentDeps, 'findRunning'>
}

/** What came, what was refused and what goes out. */
export function createMessageRoutes({ store, agents }: MessageRouteOptions): Hono {
  const withHistory = createHistoryReader(store, agents)
  return new Hono()
    .get('/messages', async context => {
      const messages = await store.listMessages(readPage(context))
      return context.json({ messages, next: messages.at(-1)?.message ?? null })
    })
    .get('/messages/:id{.+}', async context => {
      const record = await store.findMessage(context.req.param('id'))
      if (!record) throw new Rejection('no_recipient', 'Cannot show message: there is none with this id')
      return context.json(await withHistory(record))
    })
    .get('/deliveries', async context => {
      const state = readState(context.req.query('state'))
      return context.json({ deliveries: await store.listDeliveries({ ...readPage(context), state }) })
    })
    .post('/deliveries/:id/:action{retry|drop|dismiss}', async context => {
      const { id, action } = context.req.param()
      const { change, what } = deliveryChanges[action as DeliveryChange]
      if (!(await change(store, id)))
        throw new Rejection('no_recipient', `Cannot ${action} delivery: there is no ${what} with this id`)
      return context.json({ id, done: action })
    })
    .get('/refusals', async context => {
      const refusals = await store.listRefusals(readPage(context))
      return context.json({ refusals, next: refusals.at(-1)?.place ?? null })
    })
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

function readPage(context: Context): { readonly limit: number; readonly after?: number } {
  const limit = readNumber(context.req.query('limit'), 'limit') ?? 50
  const after = readNumber(context.req.query('after'), 'after')
  if (limit < 1 || limit > 500) throw new Rejection('malformed', 'Cannot list: "limit" must be from 1 to 500')
  return { limit, ...(after !== undefined && { after }) }
}

function readNumber(text: string | undefined, name: string): number | undefined {
  if (text === undefined || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) throw new Rejection('malformed', `Cannot list: "${name}" must be a whole number`)
  return Number(text)
}

export type DeliveryChange = 'retry' | 'drop' | 'dismiss'

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

const deliveryStates: ReadonlySet<string> = new Set(['queued', 'sent', 'later', 'dead', 'dismissed'])

function readState(text: string | undefined): DeliveryRecord['state'] | undefined {
  if (text === undefined) return undefined
  if (!deliveryStates.has(text))
    throw new Rejection('malformed', 'Cannot list: "state" must be queued, sent, later, dead or dismissed')
  return text as DeliveryRecord['state']
}
