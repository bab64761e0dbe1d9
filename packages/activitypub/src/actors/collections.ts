// Builds the collections of an actor: outbox, followers, following and featured posts.
import type { Json } from '@postern/message'
import type { LookupStore, RelationStore } from '@postern/pipeline'
import { agentIris } from '../format/own-iris.ts'
import { activityStreams } from '../format/vocabulary.ts'
import type { PostsDeps } from '../posts/posts.ts'
import { toPublishedResponse } from '../posts/posts.ts'
import { renderCreate } from '../posts/render-post.ts'

type OutboxResponse = Awaited<ReturnType<LookupStore['listResponses']>>[number]

export interface Collection {
  describe(agent: string): Promise<Json>
  /** Returns the page after the cursor `after` of the previous page, or the first page if it is undefined. */
  describePage(agent: string, after: number | undefined): Promise<Json>
}

export type CollectionName = 'outbox' | 'followers' | 'following' | 'featured'

type CollectionStore = Pick<LookupStore & RelationStore, 'listResponses' | 'countListed' | 'countRelations'>

type OutboxDeps = Pick<PostsDeps, 'origin' | 'fileAddress'>

export function createCollections(
  store: CollectionStore,
  deps: OutboxDeps,
): Readonly<Record<CollectionName, Collection>> {
  const { origin } = deps
  return {
    outbox: createOutbox(store, deps),
    followers: createRelationCollection('followers', store, origin),
    following: createRelationCollection('following', store, origin),
    // Agents pin no posts, so this collection is always empty.
    featured: {
      describe: async agent => renderEmptyCollection(agentIris(origin, agent).featured),
      describePage: async agent => renderCollectionPage(agentIris(origin, agent).featured, []),
    },
  }
}

const pageSize = 20

/** Creates the collection of public posts, newest first. */
function createOutbox(store: CollectionStore, deps: OutboxDeps): Collection {
  const { origin } = deps
  return {
    async describe(agent) {
      const { outbox } = agentIris(origin, agent)
      const total = await store.countListed({ agent, via: 'activitypub' })
      return { ...renderCollection(outbox, total), first: formatPageIri(outbox) }
    },
    async describePage(agent, after) {
      const { outbox } = agentIris(origin, agent)
      const cursor = after === undefined ? {} : { after }
      const responses = await store.listResponses({
        agent,
        via: 'activitypub',
        isListed: true,
        limit: pageSize,
        ...cursor,
      })
      const nextCursor = responses.length === pageSize ? responses.at(-1)?.position : undefined
      const orderedItems = responses.map(item => renderOutboxItem(item, deps))
      return {
        ...renderCollectionPage(outbox, orderedItems, after),
        ...(nextCursor !== undefined && { next: formatPageIri(outbox, nextCursor) }),
      }
    },
  }
}

const relationsByCollection = { followers: 'follower', following: 'following' } as const

/** Creates a collection of the people to whom an agent has a relation. It shows their number and never their names. */
function createRelationCollection(
  name: keyof typeof relationsByCollection,
  store: CollectionStore,
  origin: string,
): Collection {
  return {
    async describe(agent) {
      const id = agentIris(origin, agent)[name]
      const total = await store.countRelations({ agent, via: 'activitypub', relation: relationsByCollection[name] })
      return { ...renderCollection(id, total), first: formatPageIri(id) }
    },
    describePage: async agent => renderCollectionPage(agentIris(origin, agent)[name], []),
  }
}

export function renderEmptyCollection(id: string): Json {
  return { ...renderCollection(id, 0), orderedItems: [] }
}

function renderCollection(id: string, totalItems: number) {
  return { '@context': activityStreams, id, type: 'OrderedCollection', totalItems }
}

function renderCollectionPage(partOf: string, orderedItems: readonly Json[], after?: number) {
  const id = formatPageIri(partOf, after)
  return { '@context': activityStreams, id, type: 'OrderedCollectionPage', partOf, orderedItems }
}

function formatPageIri(collectionIri: string, after?: number): string {
  return `${collectionIri}?page=true${after === undefined ? '' : `&after=${after}`}`
}

/** Renders an answer as an item of the outbox. An answer that is split into several posts is listed by its first post. */
function renderOutboxItem(response: OutboxResponse, deps: OutboxDeps): Json {
  const { '@context': _, ...activity } = renderCreate(toPublishedResponse(response, deps))
  return activity
}
