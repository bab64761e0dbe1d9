/** The addresses of our own actors and of their documents. */
interface AgentIris {
  readonly actor: string
  readonly inbox: string
  readonly outbox: string
  readonly followers: string
  readonly following: string
  readonly featured: string
}

export function agentIris(origin: string, name: string): AgentIris {
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

/** A post's id depends on the response alone, so a retried delivery is the same document. */
export function postIri(origin: string, name: string, responseId: string): string {
  return `${agentIris(origin, name).actor}/posts/${responseId}`
}

/** The page of an agent's posts under a tag (without `#`). */
export function tagIri(origin: string, name: string, tag: string): string {
  return `${agentIris(origin, name).actor}/tags/${encodeURIComponent(tag)}`
}

export function activityIri(post: string): string {
  return `${post}/activity`
}

export function instanceActorIri(origin: string): string {
  return `${origin}/actor`
}
