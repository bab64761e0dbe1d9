import type { ListedDecision } from '@postern/core'
import { personKeyOf } from '@postern/core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { answerOwner } from './dialects/answer.ts'
import type { WebOwner } from './owner.ts'
import type { WebRooms } from './rooms.ts'
import { findAgentName } from './runs/start-run.ts'

/** More nobody has. */
const mostListed = 500

/** What somebody has decided for later calls, too, from the chat and from the addresses that are linked with him; and the end of it. */
export function createRememberedRoutes(rooms: WebRooms): Hono {
  const routes = new Hono()
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes
      .get(
        `${base}/approvals`,
        answerOwner(rooms, async (c, owner) => {
          const own = await listOwn(findAgentName(c.req.param('agent'), rooms), owner, rooms)
          return { approvals: own.map(showRemembered) }
        }),
      )
      .delete(
        `${base}/approvals/:id`,
        answerOwner(rooms, (c, owner) => revoke(c, owner, rooms)),
      )
  }
  return routes
}

async function revoke(c: Context, owner: WebOwner, rooms: WebRooms): Promise<object | undefined> {
  const agent = findAgentName(c.req.param('agent'), rooms)
  const id = c.req.param('id') ?? ''
  const own = await listOwn(agent, owner, rooms)
  const isOwn = own.some(remembered => remembered.id === id)
  return isOwn && (await rooms.house.desk.revokeRemembered({ agent, id })) ? { id, revoked: true } : undefined
}

/** What an operator has decided is not his. */
async function listOwn(
  agent: string,
  { address, owner }: WebOwner,
  { house: { desk }, isLinking }: WebRooms,
): Promise<readonly ListedDecision[]> {
  const person = isLinking(agent) ? await desk.findPerson(agent, { via: 'web', address, subject: owner }) : undefined
  const addresses = [{ via: 'web', address }, ...(person?.addresses ?? [])]
  const persons = [...new Set(addresses.map(each => personKeyOf(each.via, each.address)))]
  const listed = await desk.listRemembered({ agent, persons, limit: mostListed })
  return listed.filter(({ approver }) => approver === 'sender')
}

function showRemembered({ id, tool, member, policy, scope, address, given_at, expires_at }: ListedDecision): object {
  return { id, tool, ...(member !== undefined && { member }), policy, scope, address, given_at, expires_at }
}
