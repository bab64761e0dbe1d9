import type { AgentContext, NormalizedMessage } from '@postern/core'

/** A message that an agent is at, as the test that waits for it sees it. */
export interface SlowRun {
  readonly message: NormalizedMessage
  readonly words: string
  readonly context: AgentContext
  /** Lets the agent answer: what it heard, word for word. */
  finish(): void
}

export interface SlowStore {
  begin(run: SlowRun): void
}

const key = Symbol.for('postern.test.slow')

/** Where runs are told of: modules are loaded apart from the tests that watch them. */
export function shareSlowStore(store: SlowStore): void {
  Object.assign(globalThis, { [key]: store })
}

export function wordsOf({ parts }: NormalizedMessage): string {
  return parts.map(part => (part.kind === 'text' ? part.content.trim() : part.kind)).join(' + ')
}

/** Answers when it is told to, and not a moment before, whatever its signal says. */
export function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const store = (globalThis as Record<symbol, unknown>)[key] as SlowStore
  return new Promise(resolve => {
    const words = wordsOf(message)
    store.begin({ message, words, context, finish: () => resolve(`heard ${words}`) })
  })
}
