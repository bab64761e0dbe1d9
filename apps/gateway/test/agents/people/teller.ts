// Names the conversation, continues others unasked, and writes mail.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentPublisher } from '@postern/pipeline'

let publisher: AgentPublisher | undefined

export function start(given: AgentPublisher): void {
  publisher = given
}

/** Performs `tell <thread> <text>` in another conversation, or `mail <address> <text>`. Reports the conversation on any other text. */
export async function handle({ parts, thread_id, history = [] }: NormalizedMessage): Promise<string> {
  const [, act, where = '', words = ''] = /(tell|mail) (\S+) ([^\n]+)/.exec(plainTextOf(parts)) ?? []
  if (act === undefined || !publisher) return `thread=${thread_id} past=${history.length} ${lastWords(history)}`
  const given =
    act === 'tell'
      ? await publisher.reply(where, words)
      : await publisher.post(words, { via: 'email', mentions: [where], subject: 'News' })
  return `given=${typeof given === 'string' ? given : `${given.code} ${given.key} ${given.message}`}`
}

function lastWords(history: NonNullable<NormalizedMessage['history']>): string {
  const last = history.at(-1)
  return last?.role === 'assistant' ? `last=${plainTextOf(last.parts)}` : ''
}
