// Remembers each text by `thread_id`, and answers with everything that it remembers of the conversation.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

/** The texts that the agent received in each conversation, by `thread_id`. */
const memory = new Map<string, string[]>()

export function handle({ thread_id, parts }: NormalizedMessage): string {
  const texts = [...(memory.get(thread_id) ?? []), plainTextOf(parts)]
  memory.set(thread_id, texts)
  return JSON.stringify(texts)
}
