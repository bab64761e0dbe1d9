import type { AgentDirectory, Store } from '@postern/core'
import { postIri } from '../format/own-iris.ts'
import { isOpen } from '../format/visibility.ts'
import { parsePieceId } from '../posts/pieces.ts'
import { readRendering } from '../posts/rendering.ts'

/** An agent's post that a peer reacts to. */
export interface OwnPost {
  readonly agent: string
  /** Its IRI. */
  readonly id: string
  readonly thread_id: string
  /** The id of its thread. */
  readonly scope: string
}

const postPath = /^\/agents\/([^/]+)\/posts\/([^/?#]+)(?:\/activity)?$/

/** The agent whose actor this is. */
export function findAgentName(iri: string, agents: Pick<AgentDirectory, 'origin' | 'find'>): string | undefined {
  const prefix = `${agents.origin}/agents/`
  return iri.startsWith(prefix) ? agents.find(iri.slice(prefix.length))?.name : undefined
}

/** The agent and the number in the IRI of an own post; whether that post exists is not checked yet. */
export function parsePostIri(iri: string, { origin }: Pick<AgentDirectory, 'origin'>) {
  const [, agent, id] = (iri.startsWith(`${origin}/`) && postPath.exec(iri.slice(origin.length))) || []
  return agent && id ? { agent, id } : undefined
}

interface OwnPostLookups {
  readonly agents: AgentDirectory
  readonly store: Pick<Store, 'findResponse' | 'findRelation'>
}

/** An own post that this actor may read. For all others it does not exist. */
export async function findOwnPost(
  iri: string,
  reader: string,
  { agents, store }: OwnPostLookups,
): Promise<OwnPost | undefined> {
  const named = parsePostIri(iri, agents)
  const { responseId, piece } = parsePieceId(named?.id ?? '')
  const found = named && (await store.findResponse(responseId))
  if (!found || found.agent !== named.agent || found.via !== 'activitypub' || found.retractedAt) return undefined
  const { reply, visibility, pieces } = readRendering(found.rendering, found.target, found.response)
  if (piece >= pieces) return undefined
  const isReader = isOpen(visibility) || reply?.actor === reader
  if (!isReader && (visibility !== 'followers' || !(await isFollower(reader, found.agent, store)))) return undefined
  return {
    agent: named.agent,
    id: postIri(agents.origin, named.agent, named.id),
    thread_id: found.message.thread_id,
    scope: isOpen(reply?.visibility ?? visibility) ? 'public' : (reply?.actor ?? found.message.id),
  }
}

async function isFollower(peer: string, agent: string, store: Pick<Store, 'findRelation'>): Promise<boolean> {
  return (await store.findRelation({ via: 'activitypub', agent, relation: 'follower', peer })) !== undefined
}
