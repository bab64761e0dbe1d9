import { createHash, timingSafeEqual } from 'node:crypto'
import type { AgentHouse } from '@postern/agents'
import type {
  Channel,
  DeliveryRecord,
  DemandDesk,
  LookupDesk,
  MessageRecord,
  OperatorDesk,
  RelationDesk,
} from '@postern/core'
import { createSlidingWindowPolicy, parseAddress, Rejection } from '@postern/core'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { ResolveWorld } from '../resolve/peer-view.ts'
import type { ActRouteOptions } from './act-routes.ts'
import { createActRoutes } from './act-routes.ts'
import type { DemandRouteOptions } from './demand-routes.ts'
import { createDemandRoutes } from './demand-routes.ts'
import { createFollowerRoutes } from './follower-routes.ts'
import { createKeyRoutes } from './key-routes.ts'
import { createMailRoutes } from './mail-routes.ts'
import type { PeopleRouteOptions } from './people-routes.ts'
import { createPeopleRoutes } from './people-routes.ts'
import { createRememberedRoutes } from './remembered-routes.ts'
import { createResolveRoutes } from './resolve-routes.ts'

export interface OperatorOptions {
  readonly desk: OperatorDesk &
    DemandDesk &
    Pick<LookupDesk, 'readHistory'> &
    Pick<RelationDesk, 'listRelations'> &
    PeopleRouteOptions['desk']
  readonly agents: Pick<AgentHouse, 'findRunning' | 'find' | 'domain'>
  readonly channels: readonly Channel[]
  readonly token: string
  readonly acting: ActRouteOptions['acting']
  readonly policy: DemandRouteOptions['policy']
  openResolveWorld(): ResolveWorld
  /** Behind the same token. */
  readonly further?: readonly Hono[]
}

/** The operator's view of everything that came, was answered, was refused and went out. */
export function createOperatorRoutes({
  desk,
  agents,
  channels,
  token,
  acting,
  policy,
  openResolveWorld,
  further = [],
}: OperatorOptions): Hono {
  const withHistory = createHistoryReader(desk, agents)
  const routes = new Hono()
    .basePath('/operator/api')
    .use(requireOperator(token))
    .route('/', createFollowerRoutes({ desk, channels }))
    .route('/', createKeyRoutes({ channels }))
    .route('/', createMailRoutes({ desk, channels }))
    .route('/', createActRoutes({ agents, acting }))
    .route('/', createDemandRoutes({ desk, policy }))
    .route('/', createRememberedRoutes(desk))
    .route('/', createPeopleRoutes({ desk, agents }))
    .route('/', createResolveRoutes(openResolveWorld))
    .get('/messages', async context => {
      const messages = await desk.listMessages(readPage(context))
      return context.json({ messages, next: messages.at(-1)?.message ?? null })
    })
    .get('/messages/:id{.+}', async context => {
      const record = await desk.findMessage(context.req.param('id'))
      if (!record) throw new Rejection('no_recipient', 'Cannot show message: there is none with this id')
      return context.json(await withHistory(record))
    })
    .get('/deliveries', async context => {
      const state = readState(context.req.query('state'))
      return context.json({ deliveries: await desk.listDeliveries({ ...readPage(context), state }) })
    })
    .post('/deliveries/:id/:action{retry|drop|dismiss}', async context => {
      const { id, action } = context.req.param()
      const { change, what } = deliveryChanges[action as DeliveryChange]
      if (!(await change(desk, id)))
        throw new Rejection('no_recipient', `Cannot ${action} delivery: there is no ${what} with this id`)
      return context.json({ id, done: action })
    })
    .get('/refusals', async context => {
      const refusals = await desk.listRefusals(readPage(context))
      return context.json({ refusals, next: refusals.at(-1)?.place ?? null })
    })
  for (const each of further) routes.route('/', each)
  return routes
}

/** The past as the agent's own policy gives it; the first message of a thread has none. */
function createHistoryReader(
  desk: Pick<LookupDesk, 'readHistory'>,
  agents: Pick<AgentHouse, 'findRunning'>,
): (record: MessageRecord) => Promise<MessageRecord> {
  return async record => {
    const { number: before, thread, message } = record
    const policy = agents.findRunning(parseAddress(message.recipient).local)?.history ?? createSlidingWindowPolicy()
    const { turns } = policy.view(await desk.readHistory({ thread, before, ...policy.reach }))
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
  change(desk: OperatorDesk, id: string): Promise<boolean>
}

const deliveryChanges: Readonly<Record<DeliveryChange, DeliveryChangeRule>> = {
  retry: { what: 'unfinished one', change: (desk, id) => desk.retryDelivery(id) },
  drop: { what: 'unfinished one', change: (desk, id) => desk.dropDelivery(id) },
  dismiss: { what: 'dead letter', change: (desk, id) => desk.dismissDelivery(id) },
}

const deliveryStates: ReadonlySet<string> = new Set(['queued', 'sent', 'later', 'dead', 'dismissed'])

function readState(text: string | undefined): DeliveryRecord['state'] | undefined {
  if (text === undefined) return undefined
  if (!deliveryStates.has(text))
    throw new Rejection('malformed', 'Cannot list: "state" must be queued, sent, later, dead or dismissed')
  return text as DeliveryRecord['state']
}
