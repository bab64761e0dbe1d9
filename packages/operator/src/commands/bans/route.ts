// Lists and lifts bans that policies of a swarm have set, in the operator's API.
import { hash } from 'node:crypto'
import { parseJsonText, Rejection } from '@postern/message'
import type { GatewayStore } from '@postern/store'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { containsText, filterPage, listFilters, pageOf, pageParameters, unknownNameRefusal } from '../../api/page.ts'

const banShape = {
  id: z.string(),
  policy: z.string().describe('Policy of the swarm that banned the sender.'),
  subject: z.string().describe('The banned sender.'),
}

export const banOperations = {
  list: defineOperation({
    id: 'listBans',
    method: 'GET',
    path: '/agents/{agent}/bans',
    summary: 'Lists the senders whom a swarm has banned, newest first.',
    task: 'list bans',
    parameters: z.object({ agent: z.string() }),
    query: z.object({ sender: listFilters.sender, ...pageParameters }),
    answer: pageOf(z.object({ number: z.int().describe('Number of the ban.'), ...banShape }).meta({ id: 'Ban' })),
    refusals: unknownNameRefusal,
  }),
  lift: defineOperation({
    id: 'liftBan',
    method: 'DELETE',
    path: '/agents/{agent}/bans/{id}',
    summary: 'Lifts a ban.',
    task: 'lift ban',
    parameters: z.object({ agent: z.string(), id: z.string() }),
    answer: z.object({ ...banShape, lifted: z.literal(true) }),
    refusals: { no_recipient: 'There is no ban with this id.' },
  }),
} as const

const kind = 'swarm-ban'
const ownerOf = (agent: string) => `agent:${agent}`
const maxBans = 1_000

export function createBanRoutes(
  records: Pick<GatewayStore['records'], 'list' | 'listPage' | 'remove'>,
): readonly OperatorRoute[] {
  return [
    handleOperation(banOperations.list, ({ parameters: { agent }, query }) =>
      filterPage(
        query,
        page => records.listPage(kind, ownerOf(agent), page),
        ({ number, key }) => {
          const ban = describeBan(key)
          return containsText(ban.subject, query.sender) ? { number, ...ban } : undefined
        },
      ),
    ),
    handleOperation(banOperations.lift, async ({ parameters: { agent, id } }) => {
      const bans = await records.list(kind, ownerOf(agent), { limit: maxBans })
      const ban = bans.find(({ key }) => nameBan(key) === id)
      if (!ban) throw new Rejection('no_recipient', 'Cannot lift ban: there is no ban with this id')
      await records.remove({ kind, owner: ownerOf(agent), key: ban.key })
      return { ...describeBan(ban.key), lifted: true as const }
    }),
  ]
}

function describeBan(key: string): { readonly id: string; readonly policy: string; readonly subject: string } {
  const [, policy = '', subject = ''] = parseJsonText(key) as readonly string[]
  return { id: nameBan(key), policy, subject }
}

function nameBan(key: string): string {
  return hash('sha256', key).slice(0, 16)
}
