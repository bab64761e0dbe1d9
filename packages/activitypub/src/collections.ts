import type { Json, LookupDesk } from '@postern/core'
import { createExpiringMap } from './expiring-map.ts'
import { agentIris } from './own-iris.ts'
import { renderCreate } from './render.ts'
import { readReplyTarget } from './reply-target.ts'
import { isOpen, replyVisibility } from './visibility.ts'
import { activityStreams } from './vocabulary.ts'

type Listed = Awaited<ReturnType<LookupDesk['listResponses']>>[number]

export interface Outbox {
  describe(agent: string): Promise<Json>
  /** Posts everybody may read, newest first, after a place of the page before. */
  page(agent: string, after: number | undefined): Promise<Json>
}

const pageSize = 20
const countedAtMost = 1_000
const countKeptMs = 60_000

export function createOutbox(desk: Pick<LookupDesk, 'listResponses'>, origin: string, now: () => number): Outbox {
  const counts = createExpiringMap<number>(1_000, now)
  const list = (agent: string, limit: number, after?: number) =>
    desk.listResponses({ agent, via: 'activitypub', limit, ...(after !== undefined && { after }) })

  async function count(agent: string): Promise<number> {
    const known = counts.get(agent)
    if (known !== undefined) return known
    const counted = (await list(agent, countedAtMost)).filter(isForAll).length
    counts.set(agent, counted, countKeptMs)
    return counted
  }

  return {
    async describe(agent) {
      const { outbox } = agentIris(origin, agent)
      return { ...collection(outbox, await count(agent)), first: `${outbox}?page=true` }
    },
    async page(agent, after) {
      const { outbox } = agentIris(origin, agent)
      const listed = await list(agent, pageSize, after)
      const next = listed.length === pageSize ? listed.at(-1)?.place : undefined
      return {
        '@context': activityStreams,
        id: pageIri(outbox, after),
        type: 'OrderedCollectionPage',
        partOf: outbox,
        ...(next !== undefined && { next: pageIri(outbox, next) }),
        orderedItems: listed.filter(isForAll).map(item => toItem(item, agent, origin)),
      }
    },
  }
}

/** A collection that is empty: nobody follows yet, nothing is pinned. */
export function renderEmptyCollection(id: string): Json {
  return { ...collection(id, 0), orderedItems: [] }
}

function collection(id: string, totalItems: number) {
  return { '@context': activityStreams, id, type: 'OrderedCollection', totalItems }
}

function pageIri(outbox: string, after: number | undefined): string {
  return `${outbox}?page=true${after === undefined ? '' : `&after=${after}`}`
}

function isForAll({ response, target }: Listed): boolean {
  return isOpen(replyVisibility(readReplyTarget(target).visibility, response.visibility))
}

function toItem({ response, target }: Listed, agent: string, origin: string): Json {
  const { '@context': _, ...activity } = renderCreate({ origin, agent, response, target: readReplyTarget(target) })
  return activity
}
