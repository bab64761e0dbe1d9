import type { Json, LookupDesk, RelationDesk } from '@postern/core'
import { agentIris } from './own-iris.ts'
import type { PostsParts } from './posts.ts'
import { toAnswered } from './posts.ts'
import { renderCreate } from './render.ts'
import { activityStreams } from './vocabulary.ts'

type Listed = Awaited<ReturnType<LookupDesk['listResponses']>>[number]

export interface Collection {
  describe(agent: string): Promise<Json>
  /** What comes after a place of the page before. */
  page(agent: string, after: number | undefined): Promise<Json>
}

export type CollectionName = 'outbox' | 'followers' | 'following' | 'featured'

type CollectionDesk = Pick<LookupDesk & RelationDesk, 'listResponses' | 'countListed' | 'countRelations'>

export type OutboxHouse = Pick<PostsParts, 'origin' | 'fileAddress'>

export function createCollections(
  desk: CollectionDesk,
  house: OutboxHouse,
): Readonly<Record<CollectionName, Collection>> {
  const { origin } = house
  return {
    outbox: createOutbox(desk, house),
    followers: createPeople('followers', desk, origin),
    following: createPeople('following', desk, origin),
    // Nothing is pinned.
    featured: {
      describe: async agent => ({ ...collection(agentIris(origin, agent).featured, 0), orderedItems: [] }),
      page: async agent => page(agentIris(origin, agent).featured, []),
    },
  }
}

const pageSize = 20

/** Posts everybody may read, newest first. */
function createOutbox(desk: CollectionDesk, house: OutboxHouse): Collection {
  const { origin } = house
  return {
    async describe(agent) {
      const { outbox } = agentIris(origin, agent)
      const total = await desk.countListed({ agent, via: 'activitypub' })
      return { ...collection(outbox, total), first: pageIri(outbox) }
    },
    async page(agent, after) {
      const { outbox } = agentIris(origin, agent)
      const place = after === undefined ? {} : { after }
      const listed = await desk.listResponses({
        agent,
        via: 'activitypub',
        isListed: true,
        limit: pageSize,
        ...place,
      })
      const next = listed.length === pageSize ? listed.at(-1)?.place : undefined
      const orderedItems = listed.map(item => toItem(item, house))
      return { ...page(outbox, orderedItems, after), ...(next !== undefined && { next: pageIri(outbox, next) }) }
    },
  }
}

const relations = { followers: 'follower', following: 'following' } as const

/** Those an agent has relations to: how many, never who. */
function createPeople(kind: keyof typeof relations, desk: CollectionDesk, origin: string): Collection {
  return {
    async describe(agent) {
      const id = agentIris(origin, agent)[kind]
      const total = await desk.countRelations({ agent, via: 'activitypub', relation: relations[kind] })
      return { ...collection(id, total), first: pageIri(id) }
    },
    page: async agent => page(agentIris(origin, agent)[kind], []),
  }
}

function collection(id: string, totalItems: number) {
  return { '@context': activityStreams, id, type: 'OrderedCollection', totalItems }
}

function page(partOf: string, orderedItems: readonly Json[], after?: number) {
  const id = pageIri(partOf, after)
  return { '@context': activityStreams, id, type: 'OrderedCollectionPage', partOf, orderedItems }
}

function pageIri(collectionIri: string, after?: number): string {
  return `${collectionIri}?page=true${after === undefined ? '' : `&after=${after}`}`
}

/** A long answer is listed by its first post. */
function toItem(listed: Listed, house: OutboxHouse): Json {
  const { '@context': _, ...activity } = renderCreate(toAnswered(listed, house))
  return activity
}
