// Lists and revokes the decisions that the gateway remembers for a person.
import type { ListedDecision } from '@postern/pipeline'
import { formatDeciderKey } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { WebDeps } from '../endpoint.ts'
import { agentPaths, answerOwner, readAddressedAgent } from '../endpoint.ts'
import type { WebOwner } from '../verify.ts'

/** The maximum number of decisions in one list. */
const maxListedDecisions = 500

/** Creates the routes that list and revoke a person's decisions for later calls, made in the chat or from a linked address. */
export function createOwnDecisionRoutes(deps: WebDeps): Hono {
  const routes = new Hono()
  for (const base of agentPaths) {
    routes
      .get(`${base}/approvals`, answerOwner(deps, listDecisions))
      .delete(`${base}/approvals/:id`, answerOwner(deps, revokeDecision))
  }
  return routes
}

async function listDecisions(c: Context, owner: WebOwner, deps: WebDeps): Promise<object> {
  const ownDecisions = await listOwnDecisions(readAddressedAgent(c.req.param('agent'), deps), owner, deps)
  return { approvals: ownDecisions.map(showDecision) }
}

async function revokeDecision(c: Context, owner: WebOwner, deps: WebDeps): Promise<object | undefined> {
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const id = c.req.param('id') ?? ''
  const ownDecisions = await listOwnDecisions(agent, owner, deps)
  const isOwn = ownDecisions.some(decision => decision.id === id)
  return isOwn && (await deps.gateway.store.revokeRememberedDecision({ agent, id })) ? { id, revoked: true } : undefined
}

/** Lists a person's own decisions, without those of operators. */
async function listOwnDecisions(
  agent: string,
  { address, owner }: WebOwner,
  { gateway: { store }, isLinking }: WebDeps,
): Promise<readonly ListedDecision[]> {
  const person = isLinking(agent) ? await store.findPerson(agent, { via: 'web', address, subject: owner }) : undefined
  const addresses = [{ via: 'web', address }, ...(person?.addresses ?? [])]
  const deciderKeys = [...new Set(addresses.map(({ via, address }) => formatDeciderKey(via, address)))]
  const decisions = await store.listRememberedDecisions({ agent, deciderKeys, limit: maxListedDecisions })
  return decisions.filter(({ approver }) => approver === 'sender')
}

function showDecision(decision: ListedDecision): object {
  const { id, tool, calls, member, policy, scope, address, given_at, expires_at } = decision
  const callMembers = { tool, ...(calls !== undefined && { calls }), ...(member !== undefined && { member }) }
  return { id, ...callMembers, policy, scope, address, given_at, expires_at }
}
