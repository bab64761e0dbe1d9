import type { ListedDecision } from '@postern/core'
import { personKeyOf } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { answerOwner, readAddressedAgent } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** Decisions in one list. */
const mostListed = 500

/** Lists and revokes what a person has decided for later calls, from the chat or from a linked address. */
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

/** Leaves out what an operator has decided. */
async function listOwn(
  agent: string,
  { address, owner }: WebOwner,
  { gateway: { store }, isLinking }: WebDeps,
): Promise<readonly ListedDecision[]> {
  const person = isLinking(agent) ? await store.findPerson(agent, { via: 'web', address, subject: owner }) : undefined
  const addresses = [{ via: 'web', address }, ...(person?.addresses ?? [])]
  const persons = [...new Set(addresses.map(each => personKeyOf(each.via, each.address)))]
  const listed = await store.listRemembered({ agent, persons, limit: mostListed })
  return listed.filter(({ approver }) => approver === 'sender')
}

function showRemembered({ id, tool, member, policy, scope, address, given_at, expires_at }: ListedDecision): object {
  return { id, tool, ...(member !== undefined && { member }), policy, scope, address, given_at, expires_at }
}
