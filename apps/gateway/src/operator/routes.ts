import { createHash, timingSafeEqual } from 'node:crypto'
import type { AgentDeps } from '@postern/agents'
import type {
  Channel,
  DeliveryRecord,
  LookupStore,
  MessageRecord,
  OperatorStore,
  RelationStore,
  RequirementStore,
} from '@postern/core'
import { createSlidingWindowPolicy, parseAddress, Rejection } from '@postern/core'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { ResolvePlatform } from '../resolve/peer-view.ts'
import type { ActionRouteOptions } from './action-routes.ts'
import { createActionRoutes } from './action-routes.ts'
import { createFollowerRoutes } from './follower-routes.ts'
import { createKeyRoutes } from './key-routes.ts'
import { createMailRoutes } from './mail-routes.ts'
import type { PeopleRouteOptions } from './people-routes.ts'
import { createPeopleRoutes } from './people-routes.ts'
import { createRememberedRoutes } from './remembered-routes.ts'
import type { RequirementRouteOptions } from './requirement-routes.ts'
import { createRequirementRoutes } from './requirement-routes.ts'
import { createResolveRoutes } from './resolve-routes.ts'

export interface OperatorOptions {
  readonly store: OperatorStore &
    RequirementStore &
    Pick<LookupStore, 'readHistory'> &
    Pick<RelationStore, 'listRelations'> &
    PeopleRouteOptions['store']
  readonly agents: Pick<AgentDeps, 'findRunning' | 'find' | 'domain'>
  readonly channels: readonly Channel[]
  readonly token: string
  readonly acting: ActionRouteOptions['acting']
  readonly policy: RequirementRouteOptions['policy']
  openResolvePlatform(): ResolvePlatform
  /** Behind the same token. */
  readonly further?: readonly Hono[]
}

/** The operator's view of everything that came, was answered, was refused and went out. */
export function createOperatorRoutes({
  store,
  agents,
  channels,
  token,
  acting,
  policy,
  openResolvePlatform,
  further = [],
}: OperatorOptions): Hono {
  const withHistory = createHistoryReader(store, agents)
  const routes = new Hono()
    .basePath('/operator/api')
    .use(requireOperator(token))
    .route('/', createFollowerRoutes({ store, channels }))
    .route('/', createKeyRoutes({ channels }))
    .route('/', createMailRoutes({ store, channels }))
    .route('/', createActionRoutes({ agents, acting }))
    .route('/', createRequirementRoutes({ store, policy }))
    .route('/', createRememberedRoutes(store))
    .route('/', createPeopleRoutes({ store, agents }))
    .route('/', createResolveRoutes(openResolvePlatform))
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
  for (const each of further) routes.route('/', each)
  return routes
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

/** Whether an `Authorization` bears this token; says nothing by the time it takes. */
export function createTokenCheck(token: string): (authorization: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)
  return authorization => timingSafeEqual(digest(authorization.replace(/^bearer /i, 'Bearer ')), expected)
}

/** Only the bearer of the operator token gets past. */
export function requireOperator(token: string): MiddlewareHandler {
  const isOperator = createTokenCheck(token)
  return async function operatorOnly(context, next) {
    if (!isOperator(context.req.header('authorization') ?? '')) {
      context.header('www-authenticate', 'Bearer realm="postern operator"')
      return context.json(
        { title: 'Unauthorized', status: 401, detail: 'The operator token is missing or wrong.' },
        401,
      )
    }
    context.header('cache-control', 'no-store')
    await next()
    return undefined
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
