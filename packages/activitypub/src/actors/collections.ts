// Builds the collections of an actor: outbox, followers, following and featured posts.
import type { Json } from '@postern/message'
import type { LookupStore, RelationStore } from '@postern/pipeline'
import { agentIris } from '../format/own-iris.ts'
import { activityStreams } from '../format/vocabulary.ts'
import type { PostsDeps } from '../posts/posts.ts'
import { toPublishedResponse } from '../posts/posts.ts'
import { renderCreate } from '../posts/render-post.ts'

type ListedResponse = Awaited<ReturnType<LookupStore['listResponses']>>[number]

export interface Collection {
  describe(agent: string): Promise<Json>
  /** Returns the page after the cursor `after` of the previous page, or the first page if it is undefined. */
  page(agent: string, after: number | undefined): Promise<Json>
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
    followers: createPeople('followers', store, origin),
    following: createPeople('following', store, origin),
    // Agents pin no posts, so this collection is always empty.
    featured: {
      describe: async agent => emptyCollection(agentIris(origin, agent).featured),
      page: async agent => renderCollectionPage(agentIris(origin, agent).featured, []),
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
      return { ...renderCollection(outbox, total), first: pageIri(outbox) }
    },
    async page(agent, after) {
      const { outbox } = agentIris(origin, agent)
      const cursor = after === undefined ? {} : { after }
      const responses = await store.listResponses({
        agent,
        via: 'activitypub',
        isListed: true,
        limit: pageSize,
        ...cursor,
      })
      const next = responses.length === pageSize ? responses.at(-1)?.position : undefined
      const orderedItems = responses.map(item => toItem(item, deps))
      return {
        ...renderCollectionPage(outbox, orderedItems, after),
        ...(next !== undefined && { next: pageIri(outbox, next) }),
      }
    },
  }
}

const relations = { followers: 'follower', following: 'following' } as const

/** Creates a collection of the people to whom an agent has a relation. It shows their number and never their names. */
function createPeople(kind: keyof typeof relations, store: CollectionStore, origin: string): Collection {
  return {
    async describe(agent) {
      const id = agentIris(origin, agent)[kind]
      const total = await store.countRelations({ agent, via: 'activitypub', relation: relations[kind] })
      return { ...renderCollection(id, total), first: pageIri(id) }
    },
    page: async agent => renderCollectionPage(agentIris(origin, agent)[kind], []),
  }
}

export function emptyCollection(id: string): Json {
  return { ...renderCollection(id, 0), orderedItems: [] }
}

function renderCollection(id: string, totalItems: number) {
  return { '@context': activityStreams, id, type: 'OrderedCollection', totalItems }
}

function renderCollectionPage(partOf: string, orderedItems: readonly Json[], after?: number) {
  const id = pageIri(partOf, after)
  return { '@context': activityStreams, id, type: 'OrderedCollectionPage', partOf, orderedItems }
}

function pageIri(collectionIri: string, after?: number): string {
  return `${collectionIri}?page=true${after === undefined ? '' : `&after=${after}`}`
}

/** Renders the entry of an answer. An answer that is split into several posts is listed by its first post. */
function toItem(response: ListedResponse, deps: OutboxDeps): Json {
  const { '@context': _, ...activity } = renderCreate(toPublishedResponse(response, deps))
  return activity
}
