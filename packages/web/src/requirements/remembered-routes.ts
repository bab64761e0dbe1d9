// Lists and revokes the decisions that the gateway remembers for a person.
import type { ListedDecision } from '@postern/pipeline'
import { personKeyOf } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { answerOwner, readAddressedAgent } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** The maximum number of decisions in one list. */
const maxListedDecisions = 500

/** Creates the routes that list and revoke a person's decisions for later calls, made in the chat or from a linked address. */
export function createOwnDecisionRoutes(deps: WebDeps): Hono {
  const routes = new Hono()
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.get(`${base}/approvals`, answerOwner(deps, list)).delete(`${base}/approvals/:id`, answerOwner(deps, revoke))
  }
  return routes
}

async function list(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const own = await listOwn(readAddressedAgent(c.req.param('agent'), deps), owner, deps)
  return { approvals: own.map(showRemembered) }
}

async function revoke(c: Context, owner: WebOwner, deps: WebDeps): Promise<object | undefined> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const id = c.req.param('id') ?? ''
  const own = await listOwn(agent, owner, deps)
  const isOwn = own.some(remembered => remembered.id === id)
  return isOwn && (await deps.gateway.store.revokeRemembered({ agent, id })) ? { id, revoked: true } : undefined
}

/** Lists a person's own decisions, without those of operators. */
async function listOwn(
  agent: string,
  { address, owner }: WebOwner,
  { gateway: { store }, isLinking }: WebDeps,
): Promise<readonly ListedDecision[]> {
  const person = isLinking(agent) ? await store.findPerson(agent, { via: 'web', address, subject: owner }) : undefined
  const addresses = [{ via: 'web', address }, ...(person?.addresses ?? [])]
  const persons = [...new Set(addresses.map(each => personKeyOf(each.via, each.address)))]
  const listed = await store.listRemembered({ agent, persons, limit: maxListedDecisions })
  return listed.filter(({ approver }) => approver === 'sender')
}

function showRemembered({ id, tool, calls, member, ...others }: ListedDecision): object {
  const { policy, scope, address, given_at, expires_at } = others
  const about = { tool, ...(calls !== undefined && { calls }), ...(member !== undefined && { member }) }
  return { id, ...about, policy, scope, address, given_at, expires_at }
}
