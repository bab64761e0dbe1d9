import type { AgentAction, Part } from '@postern/core'

interface TurnPost {
  readonly id: string
  readonly parts: readonly Part[]
}

/** What a bot says and does while the gateway waits for its answer. */
export interface HeldAnswer {
  /** @returns id of the post, by which it is edited before the turn ends */
  post(parts: readonly Part[]): string
  /** False for the id of another turn. */
  edit(id: string, parts: readonly Part[]): boolean
  remove(id: string): boolean
  act(action: AgentAction): void
  /** What the gateway is answered; undefined when nothing was said or done. */
  end(): { readonly parts?: readonly Part[]; readonly acts?: readonly AgentAction[] } | undefined
}

export function createHeldAnswer(turnId: string): HeldAnswer {
  const posts: TurnPost[] = []
  const acts: AgentAction[] = []
  const findAt = (id: string) => posts.findIndex(post => post.id === id)
  let count = 0
  return {
    post(parts) {
      count += 1
      const id = `${turnId}.${count}`
      posts.push({ id, parts })
      return id
    },
    edit(id, parts) {
      const at = findAt(id)
      if (at >= 0) posts[at] = { id, parts }
      return at >= 0
    },
    remove(id) {
      const at = findAt(id)
      if (at >= 0) posts.splice(at, 1)
      return at >= 0
    },
    act: action => void acts.push(action),
    end() {
      const parts = posts.flatMap(post => post.parts)
      if (parts.length === 0 && acts.length === 0) return undefined
      return { ...(parts.length > 0 && { parts }), ...(acts.length > 0 && { acts }) }
    },
  }
}
