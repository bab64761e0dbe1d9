// Collects the posts that a bot makes while the gateway waits, as one answer.
import type { AgentAction, Part } from '@postern/message'

interface TurnPost {
  readonly id: string
  readonly parts: readonly Part[]
}

/** The posts and acts of a bot while the gateway waits for its answer. */
export interface PendingAnswer {
  /** Adds a post. @returns its id, which edits it before the turn ends */
  post(parts: readonly Part[]): string
  /** Edits a post. Returns false for the id of another turn. */
  edit(id: string, parts: readonly Part[]): boolean
  remove(id: string): boolean
  act(action: AgentAction): void
  /** Returns the answer to the gateway; undefined if the bot made no post and no act. */
  end(): { readonly parts?: readonly Part[]; readonly acts?: readonly AgentAction[] } | undefined
}

export function createPendingAnswer(turnId: string): PendingAnswer {
  const posts: TurnPost[] = []
  const acts: AgentAction[] = []
  const findPostIndex = (id: string) => posts.findIndex(post => post.id === id)
  let count = 0
  return {
    post(parts) {
      count += 1
      const id = `${turnId}.${count}`
      posts.push({ id, parts })
      return id
    },
    edit(id, parts) {
      const index = findPostIndex(id)
      if (index >= 0) posts[index] = { id, parts }
      return index >= 0
    },
    remove(id) {
      const index = findPostIndex(id)
      if (index >= 0) posts.splice(index, 1)
      return index >= 0
    },
    act: action => void acts.push(action),
    end() {
      const parts = posts.flatMap(post => post.parts)
      if (parts.length === 0 && acts.length === 0) return undefined
      return { ...(parts.length > 0 && { parts }), ...(acts.length > 0 && { acts }) }
    },
  }
}
