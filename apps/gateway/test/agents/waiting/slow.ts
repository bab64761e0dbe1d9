// Answers when the test allows it, and not before.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** A message that an agent is working on, from the view of the test that waits for it. */
export interface SlowRun {
  readonly message: NormalizedMessage
  readonly words: string
  readonly context: AgentContext
  /** Makes the agent answer with the text that it received. */
  finish(): void
}

export interface SlowStore {
  begin(run: SlowRun): void
}

const key = Symbol.for('postern.test.slow')

/** Shares the record of runs, because modules are loaded separately from the tests that watch them. */
export function shareSlowStore(store: SlowStore): void {
  Object.assign(globalThis, { [key]: store })
}

export function wordsOf({ parts }: NormalizedMessage): string {
  return parts.map(part => (part.kind === 'text' ? part.content.trim() : part.kind)).join(' + ')
}

/** Answers only when the test allows it, regardless of its signal. */
export function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const store = (globalThis as Record<symbol, unknown>)[key] as SlowStore
  return new Promise(resolve => {
    const text = wordsOf(message)
    store.begin({ message, words: text, context, finish: () => resolve(`heard ${text}`) })
  })
}
