import type { ServerResponse } from 'node:http'

/** Requests that are being answered, so that nothing they use is closed too early. */
export interface OpenRequests {
  /** Counts a request until the end of its answer. `env`: what the server hands over beside the request. */
  add(env: unknown): void
  /** Resolves when none is open. */
  ended(): Promise<void>
}

export function createOpenRequests(): OpenRequests {
  let open = 0
  const waiting = new Set<() => void>()
  const leave = () => {
    open -= 1
    if (open > 0) return
    for (const wake of waiting) wake()
    waiting.clear()
  }
  return {
    add(env) {
      const answer = (env as { readonly outgoing?: ServerResponse } | undefined)?.outgoing
      if (!answer) return
      open += 1
      answer.once('close', leave)
    },
    async ended() {
      if (open > 0) await new Promise<void>(resolve => waiting.add(resolve))
    },
  }
}
