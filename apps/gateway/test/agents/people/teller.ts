// Names the conversation, continues others unasked, and writes mail.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentPublisher } from '@postern/pipeline'

let publisher: AgentPublisher | undefined

export function start(startedPublisher: AgentPublisher): void {
  publisher = startedPublisher
}

/** Performs `tell <thread> <text>` in another conversation, or `mail <address> <text>`. Reports the conversation on any other text. */
export async function handle({ parts, thread_id, history = [] }: NormalizedMessage): Promise<string> {
  const [, act, target = '', words = ''] = /(tell|mail) (\S+) ([^\n]+)/.exec(plainTextOf(parts)) ?? []
  if (act === undefined || !publisher) return `thread=${thread_id} past=${history.length} ${lastWords(history)}`
  const result =
    act === 'tell'
      ? await publisher.reply(target, words)
      : await publisher.post(words, { via: 'email', mentions: [target], subject: 'News' })
  return `given=${typeof result === 'string' ? result : `${result.code} ${result.key} ${result.message}`}`
}

function lastWords(history: NonNullable<NormalizedMessage['history']>): string {
  const lastEntry = history.at(-1)
  return lastEntry?.role === 'assistant' ? `last=${plainTextOf(lastEntry.parts)}` : ''
}
