import { hash } from 'node:crypto'
import { parseJsonText, Rejection } from '@postern/core'
import type { RecordStore } from '@postern/transcript'
import { Hono } from 'hono'

const kind = 'swarm-ban'
const ownerOf = (agent: string) => `agent:${agent}`
const mostListed = 1_000

/** Whom policies of swarms have banned; lifted by the operator alone. */
export function createBanRoutes(records: Pick<RecordStore, 'list' | 'remove'>): Hono {
  const list = async (agent: string) => records.list(kind, ownerOf(agent), { limit: mostListed })
  return new Hono()
    .get('/agents/:agent/bans', async context => {
      const bans = await list(context.req.param('agent'))
      return context.json({ bans: bans.map(({ key }) => describeBan(key)) })
    })
    .delete('/agents/:agent/bans/:id', async context => {
      const { agent, id } = context.req.param()
      const ban = (await list(agent)).find(({ key }) => nameBan(key) === id)
      if (!ban) throw new Rejection('no_recipient', 'Cannot lift ban: there is none with this id')
      await records.remove({ kind, owner: ownerOf(agent), key: ban.key })
      return context.json({ ...describeBan(ban.key), lifted: true })
    })
}

function describeBan(key: string) {
  const [, policy, subject] = parseJsonText(key) as readonly string[]
  return { id: nameBan(key), policy, subject }
}

function nameBan(key: string): string {
  return hash('sha256', key).slice(0, 16)
}
