// Builds and parses the IRIs of our own actors, posts and activities.
import type { AgentDirectory } from '@postern/pipeline'

/** Returns the IRIs of one of our actors and of its collections. */
export function agentIris(origin: string, name: string) {
  const actor = `${origin}/agents/${name}`
  return {
    actor,
    inbox: `${actor}/inbox`,
    outbox: `${actor}/outbox`,
    followers: `${actor}/followers`,
    following: `${actor}/following`,
    featured: `${actor}/featured`,
  }
}

/** Returns the IRI of a post. It depends on the response alone, so a retried delivery is the same document. */
export function postIri(origin: string, name: string, responseId: string): string {
  return `${agentIris(origin, name).actor}/posts/${responseId}`
}

/** Returns the IRI of the page with an agent's posts under a tag (without `#`). */
export function tagIri(origin: string, name: string, tag: string): string {
  return `${agentIris(origin, name).actor}/tags/${encodeURIComponent(tag)}`
}

export function activityIri(post: string): string {
  return `${post}/activity`
}

export function instanceActorIri(origin: string): string {
  return `${origin}/actor`
}

const postPath = /^\/agents\/([^/]+)\/posts\/([^/?#]+)(?:\/activity)?$/

/** Returns the agent of an actor IRI. */
export function findAgentName(iri: string, agents: Pick<AgentDirectory, 'origin' | 'find'>): string | undefined {
  const prefix = `${agents.origin}/agents/`
  return iri.startsWith(prefix) ? agents.find(iri.slice(prefix.length))?.name : undefined
}

/** Returns the agent and the id in the IRI of an own post. It does not check that the post exists. */
export function parsePostIri(iri: string, { origin }: Pick<AgentDirectory, 'origin'>) {
  const [, agent, id] = (iri.startsWith(`${origin}/`) && postPath.exec(iri.slice(origin.length))) || []
  return agent && id ? { agent, id } : undefined
}

/** Returns the id of one piece of a response. The first piece has the id of the response alone. */
export function pieceId(responseId: string, piece: number): string {
  return piece === 0 ? responseId : `${responseId}.${piece + 1}`
}

/** Returns the response and the piece of a post's id. */
export function parsePieceId(id: string): { readonly responseId: string; readonly piece: number } {
  const [, responseId, pieceNumber] = /^(.+)\.([2-9]|1\d|20)$/.exec(id) ?? []
  return responseId === undefined ? { responseId: id, piece: 0 } : { responseId, piece: Number(pieceNumber) - 1 }
}
