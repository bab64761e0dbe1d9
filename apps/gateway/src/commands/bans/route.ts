import { hash } from 'node:crypto'
import { parseJsonText, Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import { containsText, filterPage } from '../../api/filter-page.ts'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { banOperations } from './operations.ts'

const kind = 'swarm-ban'
const ownerOf = (agent: string) => `agent:${agent}`
const mostListed = 1_000

/** Whom policies of swarms have banned; lifted by the operator alone. */
export function createBanRoutes(
  records: Pick<GatewayStore['records'], 'list' | 'listPage' | 'remove'>,
): readonly OperatorRoute[] {
  return [
    handleOperation(banOperations.list, ({ parameters: { agent }, query }) =>
      filterPage(
        query,
        page => records.listPage(kind, ownerOf(agent), page),
        ({ place, key }) => {
          const ban = describeBan(key)
          return containsText(ban.subject, query.sender) ? { place, ...ban } : undefined
        },
      ),
    ),
    handleOperation(banOperations.lift, async ({ parameters: { agent, id } }) => {
      const bans = await records.list(kind, ownerOf(agent), { limit: mostListed })
      const ban = bans.find(({ key }) => nameBan(key) === id)
      if (!ban) throw new Rejection('no_recipient', 'Cannot lift ban: there is none with this id')
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
