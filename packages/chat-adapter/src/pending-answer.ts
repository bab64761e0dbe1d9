// Collects the posts that a bot makes while the gateway waits, as one answer.
import type { AgentAction, Part } from '@postern/message'

interface AnswerPost {
  readonly id: string
  readonly parts: readonly Part[]
}

/** The posts and actions of a bot while the gateway waits for its answer. */
export interface PendingAnswer {
  /** Adds a post, and returns the id by which the bot can edit the post before the turn ends. */
  post(parts: readonly Part[]): string
  /** Edits a post. Returns false for the id of another turn. */
  edit(id: string, parts: readonly Part[]): boolean
  remove(id: string): boolean
  addAction(action: AgentAction): void
  /** Returns the answer to the gateway, or undefined if the bot made no post and no action. */
  end(): { readonly parts?: readonly Part[]; readonly acts?: readonly AgentAction[] } | undefined
}

export function createPendingAnswer(turnId: string): PendingAnswer {
  const posts: AnswerPost[] = []
  const actions: AgentAction[] = []
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
    addAction: action => void actions.push(action),
    end() {
      const parts = posts.flatMap(post => post.parts)
      if (parts.length === 0 && actions.length === 0) return undefined
      return { ...(parts.length > 0 && { parts }), ...(actions.length > 0 && { acts: actions }) }
    },
  }
}
