import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentPublisher } from '@postern/pipeline'

let publisher: AgentPublisher | undefined

export function start(given: AgentPublisher): void {
  publisher = given
}

/** Names the conversation. `tell <thread> <text>` continues another one unasked, and `mail <address> <text>` writes a mail. */
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
